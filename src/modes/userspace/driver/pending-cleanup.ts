import type { Sets } from '../../../kernel/ipset/sets.ts'
import { NodeProxyError } from '../../../lib/error.ts'
import type { PendingCleanup } from '../../definition/mode-driver.ts'
import type { Mode } from '../../mode.ts'
import type { ModeInputs } from '../../netfilter/settings/settings.ts'
import { PREFIX } from '../names.ts'
import type { UserspaceSettings } from '../settings.ts'
import type { UserspaceConfiguration } from './configuration.ts'
import { userspaceSettings } from './userspace-settings.ts'

/** The mode without workers, for a cleanup only. */
export interface CleanupRuntime {
  build(settings: UserspaceSettings): Mode
  close(): void
}

/** What the cleanup of an earlier run needs; `open` loads the code of the mode. */
export interface UserspacePendingCleanupParts {
  readonly sets: Pick<Sets, 'names'>
  readonly open: () => Promise<CleanupRuntime>
  readonly inputs: () => ModeInputs<UserspaceConfiguration>
}

/** Removes what an earlier run in userspace mode left: rules that bring packets to a process that has ended. */
export class UserspacePendingCleanup implements PendingCleanup {
  readonly #parts: UserspacePendingCleanupParts

  constructor(parts: UserspacePendingCleanupParts) {
    this.#parts = parts
  }

  async drainAndCleanup(signal: AbortSignal): Promise<void> {
    if (!(await this.#isThere())) return
    const { open, inputs } = this.#parts
    const runtime = await open()
    try {
      await runtime.build(userspaceSettings(inputs(), 'redirect')).drainAndCleanup(signal)
    } finally {
      runtime.close()
    }
  }

  /** Sets are removed last, so if none exists, nothing is left and the mode's code need not be loaded. */
  async #isThere(): Promise<boolean> {
    try {
      return (await this.#parts.sets.names(PREFIX)).length > 0
    } catch (error) {
      if (error instanceof NodeProxyError && error.code === 'NP_KERNEL_IPSET') return false
      throw error
    }
  }
}
