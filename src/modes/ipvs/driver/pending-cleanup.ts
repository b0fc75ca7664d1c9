import type { PendingCleanup } from '../../definition/pending-cleanup.ts'
import type { Mode } from '../../mode.ts'
import type { ModeInputs } from '../../netfilter/settings/mode-inputs.ts'
import type { IpvsConfiguration } from './configuration.ts'
import type { IpvsRuntime } from './ipvs-runtime.ts'
import { ipvsSettings } from './ipvs-settings.ts'

/** What an earlier run in ipvs mode left behind, removed with sockets of its own. */
export class IpvsPendingCleanup implements PendingCleanup {
  readonly #open: () => Promise<IpvsRuntime>
  readonly #inputs: () => ModeInputs<IpvsConfiguration>
  #mode: Mode | undefined

  constructor(open: () => Promise<IpvsRuntime>, inputs: () => ModeInputs<IpvsConfiguration>) {
    this.#open = open
    this.#inputs = inputs
  }

  get draining(): number {
    return this.#mode?.draining ?? 0
  }

  async drainAndCleanup(signal: AbortSignal): Promise<void> {
    const runtime = await this.#open()
    try {
      this.#mode = runtime.build(ipvsSettings(this.#inputs()))
      await this.#mode.drainAndCleanup(signal)
    } finally {
      this.#mode = undefined
      await runtime.close()
    }
  }
}
