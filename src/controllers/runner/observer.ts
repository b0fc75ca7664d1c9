import type { Write } from './write.ts'

/** A lasting failure of a controller; reported once until it is resolved. */
export interface ControllerProblem {
  readonly controller: string
  /** The first key that it concerned. */
  readonly key: string
  /** A code of docs/errors.md. */
  readonly errorCode: string
  readonly message: string
  readonly cause?: unknown
}

/** How a write ended: `conflict` is the expected refusal, because another client wrote first. */
export type WriteResult = 'done' | 'conflict' | 'failed'

/** Receives the reports of the runner, for metrics and logs. */
export interface RunnerObserver {
  /** The number of waiting keys of a controller, without those whose retry is delayed. */
  depth(controller: string, keys: number): void
  /** A key failed and will be reconciled again. */
  retried(controller: string): void
  /** A key was reconciled, including its writes, in this many seconds. */
  reconciled(controller: string, seconds: number): void
  /** A write has ended. */
  wrote(controller: string, verb: Write['verb'], result: WriteResult): void
  /** A problem begins. */
  problem(problem: ControllerProblem): void
  /** The problem with this code is over for every key of the controller. */
  healed(controller: string, errorCode: string): void
}
