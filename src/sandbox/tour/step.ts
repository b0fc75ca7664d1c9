import type { Request } from '../environment/request.ts'
import type { Sandbox } from '../environment/sandbox.ts'
import type { Expectation } from './expectation.ts'

/** One step of the tour: an optional action, then requests. */
export interface Step {
  readonly title: string
  readonly action?: {
    /** The action in words, for the reader. */
    readonly description: string
    /** Whether requests are sent while the action runs, until it has ended. */
    readonly meanwhile?: boolean
    run(sandbox: Sandbox): Promise<void>
  }
  readonly request: Request
  readonly times: number
  readonly expected: Expectation
  /** The modes in which the step makes sense; absent: all. */
  readonly modes?: readonly string[]
  /** What differs in userspace mode, where node-proxy itself connects to endpoints: they see the node. */
  readonly inUserspace?: Partial<Pick<Step, 'title' | 'times' | 'expected'>>
}

/** The steps for a mode, with what differs in it. */
export function stepsIn(mode: string, steps: readonly Step[]): readonly Step[] {
  return steps
    .filter(({ modes }) => modes?.includes(mode) ?? true)
    .map((step) => (mode === 'userspace' ? { ...step, ...step.inUserspace } : step))
}
