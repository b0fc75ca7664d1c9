import type { Mode } from '../../../modes/mode.ts'
import type { Retiree } from '../engine/pending-cleanups.ts'
import type { Ground } from './ground.ts'
import { ipvsSettings } from './ipvs-settings.ts'
import type { Situation } from './mode-kind.ts'

/** What an earlier run in ipvs mode left behind, removed with sockets of its own. */
export class Leftovers implements Retiree {
  readonly #open: () => Promise<Ground>
  readonly #situation: () => Situation
  #mode: Mode | undefined

  constructor(open: () => Promise<Ground>, situation: () => Situation) {
    this.#open = open
    this.#situation = situation
  }

  get draining(): number {
    return this.#mode?.draining ?? 0
  }

  async retire(signal: AbortSignal): Promise<void> {
    const ground = await this.#open()
    try {
      this.#mode = ground.build(ipvsSettings(this.#situation()))
      await this.#mode.retire(signal)
    } finally {
      this.#mode = undefined
      await ground.close()
    }
  }
}
