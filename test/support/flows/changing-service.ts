import { NODE_NAME } from '../lab/plan.ts'
import type { Deployment } from './deploy.ts'

/** Where clients connect to. */
export type Target = 'clusterIP' | 'nodePort'

/** The next state of a Service that changes again and again. */
export interface ServiceChange {
  /** What changes. */
  readonly kind: string
  /** Undefined: the Service is deleted. */
  readonly deployment: Deployment | undefined
  /** Where it serves no client in this state. */
  readonly unserved: readonly Target[]
}

interface Shape {
  /** Places in ENDPOINTS. */
  readonly endpoints: readonly number[]
  readonly weight: number
  readonly isSticky: boolean
  readonly isLocal: boolean
  readonly nodePort: number
}

export const CHANGING = { key: 'ns/changing', clusterIP: '172.30.16.1', nodePort: 30_160 } as const
const OTHER_PORT = 30_161

/** By turns on this node and beyond it. All of them serve all the while. */
export const ENDPOINTS = [1, 2, 3, 4, 5, 6].map((serial) => {
  const isLocal = serial % 2 === 1
  return { ip: `10.180.${isLocal ? 0 : 2}.${serial}`, node: isLocal ? NODE_NAME : 'far' }
})

/** The state before the first change. */
export const FIRST = deploymentOf({
  ...{ endpoints: [0, 1, 2], weight: 1, isSticky: false, isLocal: false },
  nodePort: CHANGING.nodePort,
})

type Kind = readonly [name: string, change: (shape: Shape, round: number) => Shape]

const replaced: Kind = [
  'endpoints replaced',
  (shape) => ({ ...shape, endpoints: shape.endpoints.map((at) => (at + 3) % ENDPOINTS.length) }),
]
const added: Kind = [
  'endpoints added',
  (shape, round) => ({ ...shape, endpoints: some(Math.min(shape.endpoints.length + 2, 6), round) }),
]
const removed: Kind = [
  'an endpoint removed',
  (shape, round) => ({ ...shape, endpoints: shape.endpoints.toSpliced(round % 2, 1) }),
]
const toOne: Kind = ['to one endpoint', (shape, round) => ({ ...shape, endpoints: [round % 6] })]
const weights: Kind = [
  'weights',
  (shape) => ({ ...shape, weight: shape.weight === 3 ? 1 : shape.weight + 1 }),
]
const affinity: Kind = ['affinity', (shape) => ({ ...shape, isSticky: !shape.isSticky })]
const policy: Kind = ['policy', (shape) => ({ ...shape, isLocal: !shape.isLocal })]

/** Clients are served in each of these states. */
const SERVED: readonly Kind[] = [
  ...[replaced, weights, affinity, added, removed, policy, toOne, added, affinity, replaced],
  ...[weights, policy, removed, added, replaced],
]
/** After so many turns through those that serve, those follow in which no client is served. */
const TURNS = 4

/** Without end; the same at each call. */
export function* serviceChanges(): Generator<ServiceChange> {
  let shape: Shape = {
    ...{ endpoints: [0, 1, 2], weight: 1, isSticky: false, isLocal: false },
    nodePort: CHANGING.nodePort,
  }
  for (let round = 0; ; ) {
    for (let turn = 0; turn < TURNS * SERVED.length; turn++) {
      const [kind, change] = SERVED[turn % SERVED.length]!
      shape = change(shape, round++)
      yield { kind, deployment: deploymentOf(shape), unserved: [] }
    }
    yield* unservedChanges(shape)
  }
}

/** Ends with the Service as it was. */
function* unservedChanges(shape: Shape): Generator<ServiceChange> {
  const back = { deployment: deploymentOf(shape), unserved: [] }
  const everywhere = { unserved: ['clusterIP', 'nodePort'] } as const
  const none = deploymentOf({ ...shape, endpoints: [] })
  yield { kind: 'to no endpoint', deployment: none, ...everywhere }
  yield { kind: 'back from none', ...back }
  const moved = deploymentOf({ ...shape, nodePort: OTHER_PORT })
  yield { kind: 'node port changed', deployment: moved, unserved: ['nodePort'] }
  yield { kind: 'node port changed back', ...back }
  yield { kind: 'deleted', deployment: undefined, ...everywhere }
  yield { kind: 'made again', ...back }
}

function some(count: number, first: number): readonly number[] {
  return Array.from({ length: count }, (_, at) => (first + at) % ENDPOINTS.length)
}

function deploymentOf({ endpoints, weight, isSticky, isLocal, nodePort }: Shape): Deployment {
  const present = endpoints.map((at) => ENDPOINTS[at]!)
  return {
    ...{ key: CHANGING.key, clusterIP: CHANGING.clusterIP, endpoints: present },
    ports: [{ name: '', port: 80, nodePort, protocol: 'TCP' }],
    weights: Object.fromEntries(present.map(({ ip }, at) => [ip, at === 0 ? weight : 1])),
    spec: {
      type: 'NodePort',
      sessionAffinity: isSticky ? 'ClientIP' : 'None',
      externalTrafficPolicy: isLocal ? 'Local' : 'Cluster',
    },
  }
}
