import type { Request } from '../environment/request.ts'
import type { Sandbox } from '../environment/sandbox.ts'
import type { Expectation } from './expectation.ts'

/** One step of the tour: an optional action, then requests. */
export interface Step {
  readonly title: string
  readonly action?: {
    /** In words, for the reader. */
    readonly description: string
    /** Requests are sent while it runs, and more until it has ended. */
    readonly meanwhile?: boolean
    run(sandbox: Sandbox): Promise<void>
  }
  readonly request: Request
  readonly times: number
  readonly expected: Expectation
  /** The only modes in which the step makes sense; all when absent. */
  readonly modes?: readonly string[]
}
