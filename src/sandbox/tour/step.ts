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
  /** What differs in userspace mode, where connections are node-proxy's own: endpoints see the node, and nothing forwards without it. */
  readonly inUserspace?: Partial<Pick<Step, 'title' | 'times' | 'expected'>>
}

/** The steps of a mode, as they are in it. */
export function stepsIn(mode: string, steps: readonly Step[]): readonly Step[] {
  return steps
    .filter(({ modes }) => modes?.includes(mode) ?? true)
    .map((step) => (mode === 'userspace' ? { ...step, ...step.inUserspace } : step))
}
