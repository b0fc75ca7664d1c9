import type { ClusterEvent, ClusterStore } from '../../../cluster/cluster-store.ts'
import { isDeepEqual } from '../../../lib/equal.ts'
import {
  arrayAt,
  isJsonObject,
  type JsonObject,
  objectAt,
  stringAt,
  valueAt,
} from '../../../lib/json.ts'
import { quote } from '../../../lib/quote.ts'
import { type Manifest, manifestError } from '../../../manifests/manifests.ts'
import { decodeEndpointSlice } from '../../../resources/endpoint-slice.ts'
import { decodeEndpoints } from '../../../resources/endpoints.ts'
import type { Decoded } from '../../../resources/problem.ts'
import { decodeService } from '../../../resources/service.ts'
import type {
  EndpointGroup,
  EndpointPort,
  Protocol,
  Service,
  ServiceKey,
  ServicePort,
} from '../../../resources/types.ts'
import type { PolicyChange } from './plan-policies.ts'

const NONE: ExpectedEndpoints = { events: [], notes: [] }

/** What manifests change in the cluster. */
export interface ClusterChanges {
  readonly events: readonly ClusterEvent[]
  /** What a reader should know of the changes: one sentence each. */
  readonly notes: readonly string[]
}

type Read = (object: JsonObject, store: Pick<ClusterStore, 'service'>) => Decoded<ClusterEvent>

/** The kinds that decide what a node forwards. */
const READERS: Readonly<Record<string, Read>> = {
  Service: (object, store) =>
    map(decodeService(object), (given) => ({
      kind: 'service',
      key: given.key,
      value: asStored(given, store.service(given.key), isHeadless(object)),
    })),
  EndpointSlice: (object) =>
    map(decodeEndpointSlice(object), (value) => ({
      kind: 'endpoints',
      name: nameOf(object),
      value,
    })),
  Endpoints: (object) =>
    map(decodeEndpoints(object), (value) => ({ kind: 'endpoints', name: nameOf(object), value })),
}

/** What is known of the cluster that the manifests change. */
export interface KnownCluster {
  readonly store: Pick<ClusterStore, 'service' | 'endpointSourcesOf'>
  /** The selectors of Services, by `namespace/name`. */
  readonly selectors: ReadonlyMap<string, JsonObject>
}

/**
 * The changes that applying the manifests would bring, with what controllers then make of the endpoints.
 * @throws NP_MANIFESTS_INVALID
 */
export function changesOf(
  manifests: readonly Manifest[],
  { store, selectors }: KnownCluster,
): ClusterChanges {
  const notes: string[] = []
  const expected: ClusterEvent[] = []
  const events = manifests.map((manifest) => {
    const event = readManifest(manifest, store, notes)
    const { object } = manifest
    notes.push(...missingAddress(event, isHeadless(object)))
    if (event.kind === 'service' && event.value !== undefined) {
      const selector = selectors.get(event.key)
      const follow = expectedEndpoints({ object, service: event.value, selector }, store)
      expected.push(...follow.events)
      notes.push(...follow.notes)
    }
    return event
  })
  // For an EndpointSlice that is among the manifests, the manifest decides, and not what controllers would write.
  return { events: [...expected, ...events], notes }
}

function readManifest(
  manifest: Manifest,
  store: Pick<ClusterStore, 'service'>,
  notes: string[],
): ClusterEvent {
  const kind = stringAt(manifest.object, 'kind')
  const read = Object.hasOwn(READERS, kind) ? READERS[kind] : undefined
  if (read === undefined) {
    const kinds = Object.keys(READERS).join(', ')
    const message = `an object of kind ${quote(kind)}; plan knows ${kinds}, NetworkPolicy, ClusterNetworkPolicy`
    throw manifestError(manifest.position('kind'), message)
  }
  const object = namespaced(manifest.object)
  const found = read(object, store)
  const problems = found.ok ? found.warnings : found.problems
  const texts = problems.map(({ field, value, message }) => `${field}: ${value}: ${message}`)
  if (!found.ok) {
    const [first] = problems
    throw manifestError(manifest.position(first?.field ?? ''), texts.join('; '))
  }
  notes.push(...texts.map((text) => `${kind} ${nameOf(object)}: ${text}`))
  return found.value
}

/** An object that would be deleted. */
export type Deletion = ClusterEvent | PolicyChange

const DELETION = /^(service|endpointslice|endpoints)\/([a-z0-9.-]+\/[a-z0-9.-]+)$/i

const POLICY_DELETION =
  /^(?:networkpolicy\/(?<policy>[a-z0-9.-]+\/[a-z0-9.-]+)|clusternetworkpolicy\/(?<cluster>[a-z0-9.-]+))$/i

/** The event of `--delete KIND/NAMESPACE/NAME`; undefined: the text has another form. */
export function deletionOf(text: string): Deletion | undefined {
  const { policy, cluster } = POLICY_DELETION.exec(text)?.groups ?? {}
  if (policy !== undefined) return { kind: 'policy', key: policy, value: undefined }
  if (cluster !== undefined) return { kind: 'clusterPolicy', key: cluster, value: undefined }
  const [, kind, name] = DELETION.exec(text) ?? []
  if (kind === undefined || name === undefined) return undefined
  if (kind.toLowerCase() !== 'service') return { kind: 'endpoints', name, value: undefined }
  return { kind: 'service', key: name as ServiceKey, value: undefined }
}

function missingAddress(event: ClusterEvent, headless: boolean): readonly string[] {
  if (event.kind !== 'service' || event.value === undefined || headless) return []
  const { type, clusterIPs } = event.value
  if (type === 'ExternalName' || clusterIPs.length > 0) return []
  return [
    `Service ${event.key} is new and names no clusterIP: the API server gives it one, which plan cannot know; write spec.clusterIP to see its objects`,
  ]
}

/** As the API server reads it: an object without a namespace is in `default`. */
function namespaced(object: JsonObject): JsonObject {
  const metadata = valueAt(object, 'metadata')
  if (typeof metadata !== 'object' || metadata === null || Array.isArray(metadata)) return object
  return { ...object, metadata: { namespace: 'default', ...metadata } }
}

function isHeadless(object: JsonObject): boolean {
  const several = valueAt(object, 'spec', 'clusterIPs')
  const first = Array.isArray(several) ? several[0] : undefined
  return first === 'None' || stringAt(object, 'spec', 'clusterIP') === 'None'
}

function nameOf(object: JsonObject): string {
  return `${stringAt(object, 'metadata', 'namespace')}/${stringAt(object, 'metadata', 'name')}`
}

function map<T>(decoded: Decoded<T>, make: (value: T) => ClusterEvent): Decoded<ClusterEvent> {
  return decoded.ok ? { ...decoded, value: make(decoded.value) } : decoded
}

/**
 * A Service as the API server would store it over `before`: addresses and ports that a manifest leaves out stay as
 * they were allocated, and so does the status.
 */
function asStored(given: Service, before: Service | undefined, isHeadless: boolean): Service {
  if (before === undefined) return given
  const hasNodePorts = given.type === 'NodePort' || given.type === 'LoadBalancer'
  const isAddressed = !isHeadless && given.type !== 'ExternalName'
  const isLocal = given.type === 'LoadBalancer' && given.externalTrafficPolicy === 'Local'
  return {
    ...given,
    uid: before.uid,
    clusterIPs: given.clusterIPs.length === 0 && isAddressed ? before.clusterIPs : given.clusterIPs,
    ports: hasNodePorts ? given.ports.map((port) => withNodePort(port, before)) : given.ports,
    healthCheckNodePort:
      given.healthCheckNodePort === 0 && isLocal
        ? before.healthCheckNodePort
        : given.healthCheckNodePort,
    loadBalancerIPs: given.type === 'LoadBalancer' ? before.loadBalancerIPs : [],
  }
}

function withNodePort(port: ServicePort, before: Service): ServicePort {
  if (port.nodePort !== 0) return port
  const same = before.ports.find(
    (one) => one.port === port.port && one.protocol === port.protocol && one.name === port.name,
  )
  return same === undefined ? port : { ...port, nodePort: same.nodePort }
}

/** What controllers will make of the endpoints of a Service that is applied. */
interface ExpectedEndpoints {
  readonly events: readonly ClusterEvent[]
  /** What cannot be known without reading Pods: one sentence each. */
  readonly notes: readonly string[]
}

/** The Service of a manifest. */
interface AppliedService {
  readonly object: JsonObject
  readonly service: Service
  /** The selector that the API server has now; undefined: there is no such Service, or it could not be read. */
  readonly selector: JsonObject | undefined
}

/**
 * The endpoints that a Service with a selector has after controllers have applied the target ports that are numbers.
 * A target port that is a name, or a changed selector, depends on Pods, which node-proxy does not read; a note says
 * what is unknown. The endpoints of a Service without a selector are written by hand, and stay.
 */
function expectedEndpoints(
  { object, service, selector: before }: AppliedService,
  store: Pick<ClusterStore, 'endpointSourcesOf'>,
): ExpectedEndpoints {
  const selector = objectAt(object, 'spec', 'selector')
  if (Object.keys(selector).length === 0 || service.type === 'ExternalName') return NONE
  const notes: string[] = []
  if (before !== undefined && !isDeepEqual(before, selector)) {
    notes.push(
      `the selector of Service ${service.key} changes: plan cannot know which Pods become its endpoints; it shows the present endpoints`,
    )
  }
  const ports = arrayAt(object, 'spec', 'ports').filter(isJsonObject)
  const targets = ports.map(targetOf)
  for (const { number, target, port } of targets) {
    if (number !== undefined) continue
    notes.push(
      `targetPort ${quote(String(target))} of port ${String(port)} of Service ${service.key} is the name of a port of the Pods, whose number plan cannot know; it shows the number that the endpoints have`,
    )
  }
  const events = store.endpointSourcesOf(service.key).flatMap((source): ClusterEvent[] => {
    const groups = source.groups.map((group) => withTargets(group, targets))
    const isSame = groups.every((group, index) => group === source.groups[index])
    const value = { ...source, groups }
    return isSame ? [] : [{ kind: 'endpoints', name: source.name, value }]
  })
  return { events, notes }
}

interface Target {
  readonly name: string
  readonly protocol: Protocol
  readonly port: unknown
  readonly target: unknown
  /** Undefined: the target port is a name. */
  readonly number: number | undefined
}

function targetOf(port: JsonObject): Target {
  const target = port['targetPort'] ?? port['port']
  return {
    name: stringAt(port, 'name'),
    protocol: (stringAt(port, 'protocol') || 'TCP') as Protocol,
    port: port['port'],
    target,
    number: typeof target === 'number' ? (target === 0 ? Number(port['port']) : target) : undefined,
  }
}

/** The group with these target ports; the same object when no port changes. */
function withTargets(group: EndpointGroup, targets: readonly Target[]): EndpointGroup {
  const ports = targets.flatMap(({ name, protocol, number }): EndpointPort[] => {
    const present = group.ports.find((one) => one.name === name && one.protocol === protocol)
    const port = number ?? present?.port
    return port === undefined ? [] : [{ name, protocol, port }]
  })
  const isSame =
    ports.length === group.ports.length &&
    ports.every(({ name, protocol, port }) =>
      group.ports.some(
        (one) => one.name === name && one.protocol === protocol && one.port === port,
      ),
    )
  return isSame ? group : { ...group, ports }
}
