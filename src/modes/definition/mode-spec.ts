import type { Mode } from '../mode.ts'

/** What one instance of a mode is built from. When it changes, the daemon replaces the instance. */
export interface ModeSpec {
  /** Name of the mode. */
  readonly mode: string
  /** Compared by value, so it must be plain data. */
  readonly settings: unknown
  /** Minimum time between two changes of the kernel, in milliseconds. */
  readonly minPeriodMs: number
  /** Milliseconds after which everything is read back and compared. */
  readonly verifyPeriodMs: number
  /** Not compared. */
  build(): Mode
}
