import { arrayAt, type Json, type JsonObject, objectAt, stringAt } from '../../lib/json.ts'
import { SERVICE_NAME } from '../../resources/label-names.ts'
import type { TrafficFacts } from './node-facts.ts'
import { isPresent, keyOf, labelsOf, nameOf, namespaceOf, selectorOf, selects } from './objects.ts'

/** What an API server publishes of the tokens that it issues. */
export interface ServerFacts {
  /** `iss` of its tokens. */
  readonly issuer: string
  /** Audiences whose tokens it accepts, as far as they are known: it publishes its issuer alone. */
  readonly audiences: readonly string[]
  /** Audiences whose tokens it was seen to reject. */
  readonly rejectedAudiences?: readonly string[]
}

/** The kinds that checks read. */
export type EvidenceKind =
  | 'services'
  | 'endpointslices'
  | 'pods'
  | 'events'
  | 'serviceaccounts'
  | 'secrets'
  | 'roles'
  | 'clusterroles'
  | 'rolebindings'
  | 'clusterrolebindings'
  | 'nodes'
  | 'networkpolicies'
  | 'clusternetworkpolicies'
  | 'namespaces'
  | 'deployments'
  | 'statefulsets'

/** What was read of a cluster: the objects of each kind, or why they could not be read. */
export type EvidenceObjects = Readonly<Partial<Record<EvidenceKind, readonly JsonObject[]>>>

/** Whether a node enforces policies. */
export interface EnforcementState {
  readonly node: string
  /** In the words of its node-proxy. */
  readonly state: string
}

/** What is known beside the objects. */
export interface FurtherEvidence {
  /** Absent: the server could not be queried for it. */
  readonly server?: ServerFacts
  /** Traffic by node; empty: no node could be queried. */
  readonly traffic?: readonly TrafficFacts[]
  /** Empty: no node could be queried. */
  readonly enforcement?: readonly EnforcementState[]
  /** The domain of Services, `cluster.local` unless given. */
  readonly clusterDomain?: string
  /** The only namespace that was read; absent: all were. */
  readonly namespace?: string
}

/** The objects of a cluster at one moment. `has` tells whether a kind without objects could be read. */
export class ClusterEvidence {
  readonly #objects: EvidenceObjects
  readonly #pods: ReadonlyMap<string, readonly JsonObject[]>
  readonly #slices: ReadonlyMap<string, readonly JsonObject[]>
  readonly #events: ReadonlyMap<string, readonly JsonObject[]>
  readonly #keys = new Map<EvidenceKind, ReadonlySet<string>>()

  /** What is known of the API server beside its objects. */
  readonly server: ServerFacts | undefined
  /** What nodes have counted. */
  readonly traffic: readonly TrafficFacts[]
  /** Whether nodes enforce policies. */
  readonly enforcement: readonly EnforcementState[]
  /** The domain of Services. */
  readonly clusterDomain: string
  /** The only namespace that was read; undefined: all were. */
  readonly namespace: string | undefined

  constructor(objects: EvidenceObjects, more: FurtherEvidence = {}) {
    const {
      server,
      traffic = [],
      enforcement = [],
      clusterDomain = 'cluster.local',
      namespace,
    } = more
    this.namespace = namespace
    this.#objects = objects
    this.server = server
    this.traffic = traffic
    this.enforcement = enforcement
    this.clusterDomain = clusterDomain
    this.#pods = Map.groupBy(this.all('pods'), namespaceOf)
    this.#slices = Map.groupBy(
      this.all('endpointslices'),
      (slice) => `${namespaceOf(slice)}/${labelsOf(slice)[SERVICE_NAME] ?? ''}`,
    )
    this.#events = Map.groupBy(this.all('events'), (event) => {
      const about = objectAt(event, 'involvedObject')
      return `${stringAt(about, 'kind')}/${stringAt(about, 'namespace')}/${stringAt(about, 'name')}`
    })
  }

  /** The same objects, with what became known later. */
  with(more: FurtherEvidence): ClusterEvidence {
    const { server, traffic, enforcement, clusterDomain, namespace } = this
    const known = {
      traffic,
      enforcement,
      clusterDomain,
      ...(server && { server }),
      ...(namespace && { namespace }),
    }
    return new ClusterEvidence(this.#objects, { ...known, ...more })
  }

  /** Whether these kinds were read; without them, checks that need them find nothing. */
  has(...kinds: readonly EvidenceKind[]): boolean {
    return kinds.every((kind) => this.#objects[kind] !== undefined)
  }

  all(kind: EvidenceKind): readonly JsonObject[] {
    return this.#objects[kind] ?? []
  }

  /** Whether the objects of this namespace were read, so that an object that was not found does not exist. */
  covers(namespace: string): boolean {
    return this.namespace === undefined || this.namespace === namespace
  }

  /** Whether there is an object of this `namespace/name`, or name where it has no namespace. */
  exists(kind: EvidenceKind, key: string): boolean {
    const known = this.#keys.getOrInsertComputed(kind, () => new Set(this.all(kind).map(keyOf)))
    return known.has(key)
  }

  podsIn(namespace: string): readonly JsonObject[] {
    return this.#pods.get(namespace) ?? []
  }

  /** The object of this key. */
  find(kind: EvidenceKind, key: string): JsonObject | undefined {
    return this.all(kind).find((object) => keyOf(object) === key)
  }

  /** The Pods that a Service selects and that have neither ended nor are being deleted. */
  podsOf(service: JsonObject): readonly JsonObject[] {
    const selector = selectorOf(service)
    if (selector === undefined) return []
    return this.podsIn(namespaceOf(service)).filter(
      (pod) => isPresent(pod) && selects(selector, labelsOf(pod)),
    )
  }

  /** The slices of a Service. */
  slicesOf(service: JsonObject): readonly JsonObject[] {
    return this.#slices.get(`${namespaceOf(service)}/${nameOf(service)}`) ?? []
  }

  /** The messages of the Events about a Pod, the last first. */
  messagesAbout(pod: JsonObject, reason: string): readonly string[] {
    const events = this.#events.get(`Pod/${namespaceOf(pod)}/${nameOf(pod)}`) ?? []
    return events
      .filter((event) => stringAt(event, 'reason') === reason)
      .toSorted((a, b) => (lastSeen(a) < lastSeen(b) ? 1 : -1))
      .map((event) => stringAt(event, 'message'))
  }

  /** How many endpoints of a Service are ready. */
  readyEndpointsOf(service: JsonObject): number {
    return this.readyEndpoints(service).length
  }

  /** The ready endpoints of a Service, as its slices have them. */
  readyEndpoints(service: JsonObject): readonly Json[] {
    const endpoints = this.slicesOf(service).flatMap((slice) => arrayAt(slice, 'endpoints'))
    return endpoints.filter((one) => objectAt(one, 'conditions')['ready'] !== false)
  }
}

function lastSeen(event: JsonObject): string {
  return stringAt(event, 'lastTimestamp') || stringAt(event, 'eventTime')
}

/** An object that makes Pods. */
export interface Workload {
  readonly kind: 'Deployment' | 'StatefulSet'
  readonly object: JsonObject
  /** The template of its Pods: their metadata and spec. */
  readonly template: JsonObject
}

/** The objects of a cluster that make Pods, Deployments first. */
export function workloads(evidence: ClusterEvidence): readonly Workload[] {
  const of = (kind: Workload['kind'], objects: readonly JsonObject[]): readonly Workload[] =>
    objects.map((object) => ({ kind, object, template: objectAt(object, 'spec', 'template') }))
  return [
    ...of('Deployment', evidence.all('deployments')),
    ...of('StatefulSet', evidence.all('statefulsets')),
  ]
}

/** `deployment/shop/web` */
export function workloadName({ kind, object }: Workload): string {
  return `${kind.toLowerCase()}/${keyOf(object)}`
}

/** The template, as an object of the namespace in which its Pods would be. */
export function templatePod({ object, template }: Workload): JsonObject {
  const metadata = { ...objectAt(template, 'metadata'), namespace: namespaceOf(object) }
  return { ...template, metadata }
}
