import type { LossReason } from '../client/reflector/reflector-context.ts'
import type { Problem } from '../resources/problem.ts'

/** Something that the server sent and that we cannot use; it harms nothing else. */
export interface WatchProblem {
  readonly resource: 'services' | 'endpointslices' | 'endpoints' | 'nodes'
  /** `namespace/name`; empty when nobody knows. */
  readonly key: string
  /** `invalid`: handled as absent; `partial`: used without some parts; `lost`: unreadable. */
  readonly kind: 'invalid' | 'partial' | 'lost'
  readonly problems: readonly Problem[]
}

const LOSSES: Readonly<Record<LossReason, string>> = {
  oversized: 'is larger than 8 MiB and was skipped',
  garbage: 'is not the JSON of an object and was skipped',
  nameless: 'has no usable name and was skipped',
}

/** The problem of an object that was lost before anybody could read its name. */
export function lossProblem(resource: WatchProblem['resource'], reason: LossReason): WatchProblem {
  const problem = { field: '', value: '(unreadable)', message: LOSSES[reason] }
  return { resource, key: '', kind: 'lost', problems: [problem] }
}
