import type { Sets } from '../../../kernel/ipset/sets.ts'
import { NodeProxyError } from '../../../lib/error.ts'
import type { Mode } from '../../../modes/mode.ts'
import { PREFIX } from '../../../modes/userspace/names.ts'
import type { UserspaceSettings } from '../../../modes/userspace/settings.ts'
import type { Retiree } from '../engine/pending-cleanups.ts'
import type { Situation } from './mode-kind.ts'
import { userspaceSettings } from './userspace-settings.ts'

/** The mode without workers, only to be removed. */
export interface DeafUserspaceGround {
  build(settings: UserspaceSettings): Mode
  close(): void
}

export interface UserspaceLeftoversParts {
  readonly sets: Pick<Sets, 'names'>
  readonly open: () => Promise<DeafUserspaceGround>
  readonly situation: () => Situation
}

/** What an earlier run in userspace mode left: rules that lead to nobody. */
export class UserspaceLeftovers implements Retiree {
  readonly #parts: UserspaceLeftoversParts

  constructor(parts: UserspaceLeftoversParts) {
    this.#parts = parts
  }

  async retire(signal: AbortSignal): Promise<void> {
    if (!(await this.#isThere())) return
    const { open, situation } = this.#parts
    const ground = await open()
    try {
      await ground.build(userspaceSettings(situation(), 'redirect')).retire(signal)
    } finally {
      ground.close()
    }
  }

  /** Its sets are removed last, so without one nothing is left, and its code need not be loaded. */
  async #isThere(): Promise<boolean> {
    try {
      return (await this.#parts.sets.names(PREFIX)).length > 0
    } catch (error) {
      if (error instanceof NodeProxyError && error.code === 'NP_KERNEL_IPSET') return false
      throw error
    }
  }
}
