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
  /** The targets at which no client is served in this state. */
  readonly unserved: readonly Target[]
}

/** A Service that changes, by its number from 0. */
export interface ChangingService {
  readonly key: string
  readonly clusterIP: string
  readonly nodePort: number
  /** The state before the first change. */
  readonly first: Deployment
  /** The changes, without end; the same at each call. */
  changes(): Generator<ServiceChange, never>
}

interface Shape {
  /** Indexes of ENDPOINTS. */
  readonly endpoints: readonly number[]
  readonly weight: number
  readonly isSticky: boolean
  readonly isLocal: boolean
  readonly nodePort: number
}

const FIRST_NODE_PORT = 30_160

/** Endpoints, alternately on this node and on others. All of them serve all the time. */
export const ENDPOINTS = [1, 2, 3, 4, 5, 6].map((serial) => {
  const isLocal = serial % 2 === 1
  return { ip: `10.180.${isLocal ? 0 : 2}.${serial}`, node: isLocal ? NODE_NAME : 'far' }
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

/** Changes to states in which clients are served. */
const SERVED: readonly Kind[] = [
  replaced,
  weights,
  affinity,
  added,
  removed,
  policy,
  toOne,
  added,
  affinity,
  replaced,
  weights,
  policy,
  removed,
  added,
  replaced,
]
/** After this number of rounds through the served states, the states without service follow. */
const TURNS = 4

/**
 * The Service with a number. Each has an address and two node ports of its own, and starts at another kind of change.
 */
export function changingService(number: number): ChangingService {
  const service = {
    key: `ns/changing-${number}`,
    clusterIP: `172.30.16.${1 + number}`,
    nodePort: FIRST_NODE_PORT + 2 * number,
  }
  const shape: Shape = {
    endpoints: [0, 1, 2],
    weight: 1,
    isSticky: false,
    isLocal: false,
    nodePort: service.nodePort,
  }
  return {
    ...service,
    first: deploymentOf(service, shape),
    changes: () => changesFrom(service, shape, number),
  }
}

type Named = Pick<ChangingService, 'key' | 'clusterIP' | 'nodePort'>

function* changesFrom(
  service: Named,
  first: Shape,
  begin: number,
): Generator<ServiceChange, never> {
  let shape = first
  for (let round = begin; ; ) {
    for (let turn = 0; turn < TURNS * SERVED.length; turn++) {
      const [kind, change] = SERVED[(begin + turn) % SERVED.length]!
      shape = change(shape, round++)
      yield { kind, deployment: deploymentOf(service, shape), unserved: [] }
    }
    yield* unservedChanges(service, shape)
  }
}

/** Changes to states without service. At the end, the Service is as before. */
function* unservedChanges(service: Named, shape: Shape): Generator<ServiceChange> {
  const back = { deployment: deploymentOf(service, shape), unserved: [] }
  const everywhere = { unserved: ['clusterIP', 'nodePort'] } as const
  const none = deploymentOf(service, { ...shape, endpoints: [] })
  yield { kind: 'to no endpoint', deployment: none, ...everywhere }
  yield { kind: 'back from none', ...back }
  const moved = deploymentOf(service, { ...shape, nodePort: service.nodePort + 1 })
  yield { kind: 'node port changed', deployment: moved, unserved: ['nodePort'] }
  yield { kind: 'node port changed back', ...back }
  yield { kind: 'deleted', deployment: undefined, ...everywhere }
  yield { kind: 'made again', ...back }
}

function some(count: number, first: number): readonly number[] {
  return Array.from({ length: count }, (_, at) => (first + at) % ENDPOINTS.length)
}

function deploymentOf(
  { key, clusterIP }: Pick<ChangingService, 'key' | 'clusterIP'>,
  { endpoints, weight, isSticky, isLocal, nodePort }: Shape,
): Deployment {
  const present = endpoints.map((at) => ENDPOINTS[at]!)
  return {
    key,
    clusterIP,
    endpoints: present,
    ports: [{ name: '', port: 80, nodePort, protocol: 'TCP' }],
    weights: Object.fromEntries(present.map(({ ip }, at) => [ip, at === 0 ? weight : 1])),
    spec: {
      type: 'NodePort',
      sessionAffinity: isSticky ? 'ClientIP' : 'None',
      externalTrafficPolicy: isLocal ? 'Local' : 'Cluster',
    },
  }
}
