import type { Mode } from '../mode.ts'

/** What one instance of a mode is built from; a different one means a new instance. */
export interface ModeSpec {
  /** Name of the mode. */
  readonly mode: string
  /** Plain data. */
  readonly settings: unknown
  readonly minPeriodMs: number
  readonly verifyPeriodMs: number
  /** Not compared. */
  build(): Mode
}
