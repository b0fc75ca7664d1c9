import type { StatusResponseJson } from '../../../inspection/generated/inspection_pb.ts'
import type { ServiceMessage } from '../data/node-api.ts'
import { Store } from '../data/store.ts'
import type { LatencyPoint } from './latency-series.ts'
import type { TrafficSample } from './traffic-rates.ts'

/** What the page knows of one node-proxy. Each part changes on its own. */
export interface NodeState {
  /** Undefined: it has not answered yet. */
  readonly status: Store<StatusResponseJson | undefined>
  /** Undefined: the Services are not read yet. */
  readonly services: Store<readonly ServiceMessage[] | undefined>
  /** Totals of the last two readings. */
  readonly traffic: Store<readonly [TrafficSample | undefined, TrafficSample | undefined]>
  readonly latency: Store<readonly LatencyPoint[]>
  /** Why the node-proxy cannot be read now; undefined: it can. */
  readonly failure: Store<string | undefined>
  /** Why its traffic cannot be read; undefined: it can. */
  readonly trafficFailure: Store<string | undefined>
}

export function nodeState(): NodeState {
  return {
    status: new Store<StatusResponseJson | undefined>(undefined),
    services: new Store<readonly ServiceMessage[] | undefined>(undefined),
    traffic: new Store<readonly [TrafficSample | undefined, TrafficSample | undefined]>([
      undefined,
      undefined,
    ]),
    latency: new Store<readonly LatencyPoint[]>([]),
    failure: new Store<string | undefined>(undefined),
    trafficFailure: new Store<string | undefined>(undefined),
  }
}

/** How many things an operator has to look at. */
export function countProblems(status: StatusResponseJson | undefined): number {
  const { reasons = [], warnings = [], refusals = [], problems = [] } = status ?? {}
  return reasons.length + warnings.length + refusals.length + problems.length
}
