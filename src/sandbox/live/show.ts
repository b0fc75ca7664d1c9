import type { Sandbox } from '../environment/sandbox.ts'
import type { Model } from './model.ts'

/** What a way of showing the sandbox works with. */
export interface Show {
  readonly sandbox: Sandbox
  readonly model: Model
  /** Shown until this is aborted. */
  readonly until: AbortSignal
  readonly quit: () => void
}
