import type { ServiceMessage, StatusMessage } from '../data/messages.ts'
import { Store } from '../data/store.ts'
import type { LatencyPoint } from '../latency/latency-series.ts'
import type { TrafficSample } from '../traffic/traffic-rates.ts'

/** What the page knows of one node-proxy. Each part changes on its own. */
export interface NodeState {
  /** Undefined: the node-proxy has not answered yet. */
  readonly status: Store<StatusMessage | undefined>
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
    status: new Store<StatusMessage | undefined>(undefined),
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

/** The number of problems that an operator should look at. */
export function countProblems(status: StatusMessage | undefined): number {
  const { reasons = [], warnings = [], refusals = [], problems = [] } = status ?? {}
  return reasons.length + warnings.length + refusals.length + problems.length
}
