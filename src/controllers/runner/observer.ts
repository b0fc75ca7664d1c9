import type { Write } from './writing/write.ts'

/** Something that keeps a controller from its work; told once, until it is over. */
export interface ControllerProblem {
  readonly controller: string
  /** The first key that it struck. */
  readonly key: string
  /** Row of docs/errors.md. */
  readonly errorCode: string
  readonly message: string
  readonly cause?: unknown
}

/** How a write ended: `conflict` is the expected refusal, because somebody was faster. */
export type WriteResult = 'done' | 'conflict' | 'failed'

/** What the runner tells those who count and log. */
export interface RunnerObserver {
  /** Keys of a controller that wait now, without those that back off. */
  depth(controller: string, keys: number): void
  retried(controller: string): void
  /** One key was looked at and its writes were made. */
  reconciled(controller: string, seconds: number): void
  wrote(controller: string, verb: Write['verb'], result: WriteResult): void
  problem(problem: ControllerProblem): void
  /** The problem with this code is over for every key of the controller. */
  healed(controller: string, errorCode: string): void
}
