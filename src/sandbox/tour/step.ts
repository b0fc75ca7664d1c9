import type { Request } from '../environment/request.ts'
import type { Sandbox } from '../environment/sandbox.ts'
import type { Expectation } from './expectation.ts'

/** One stop of the tour: perhaps something is done, then something is asked. */
export interface Step {
  readonly title: string
  readonly action?: {
    /** In words, for the reader. */
    readonly says: string
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
