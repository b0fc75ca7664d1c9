import type { LossReason } from '../client/reflector/reflector-context.ts'
import type { Problem } from '../resources/problem.ts'

/** An object from the server that cannot be used; every other object is unaffected. */
export interface WatchProblem {
  readonly resource: 'services' | 'endpointslices' | 'endpoints' | 'nodes' | 'servicecidrs'
  /** `namespace/name`; empty when unknown. */
  readonly key: string
  /** `invalid`: treated as absent; `partial`: used without some parts; `lost`: skipped, its name is unknown. */
  readonly kind: 'invalid' | 'partial' | 'lost'
  readonly problems: readonly Problem[]
}

const LOSSES: Readonly<Record<LossReason, string>> = {
  oversized: 'is larger than 8 MiB and was skipped',
  garbage: 'is not the JSON of an object and was skipped',
  nameless: 'has no usable name and was skipped',
}

/** The problem of an object that the client skipped before its name could be read. */
export function lossProblem(resource: WatchProblem['resource'], reason: LossReason): WatchProblem {
  const problem = { field: '', value: '(unreadable)', message: LOSSES[reason] }
  return { resource, key: '', kind: 'lost', problems: [problem] }
}
