import { isDeepEqual } from '../../lib/equal.ts'
import { type JsonObject, stringAt } from '../../lib/json.ts'
import { SERVICE_NAME, SLICE_MANAGED_BY, TOPOLOGY_CONDITION } from '../../resources/label-names.ts'
import {
  conditionMatches,
  setCondition,
  type WantedCondition,
} from '../../resources/status-condition.ts'
import {
  AUTO_HINTS_GROUP,
  capacityOf,
  readCapacity,
  type ZoneCapacity,
} from '../cache/collections.ts'
import type { ObjectChange, View } from '../cache/object-cache.ts'
import { podsOf, servicesOfPodChange, servicesOnNode } from '../cache/selection.ts'
import type { NodeObject } from '../objects/node-object.ts'
import type { PodObject } from '../objects/pod-object.ts'
import type { ServiceObject, TrafficDistribution } from '../objects/service-object.ts'
import type { Controller, Reconciliation } from '../runner/controller.ts'
import {
  type EventContent,
  eventWrite,
  objectNamed,
  statusPatch,
  type Write,
} from '../runner/write.ts'
import {
  type Candidate,
  candidatesOf,
  hostOf,
  portsKey,
  serviceLabels,
  targetRefOf,
} from './candidate.ts'
import { endpointId, isReady, type WantedEndpoint, type WantedGroup } from './slice-packing.ts'
import {
  ADDRESS_TYPES,
  ownerReference,
  type SliceTemplate,
  sliceAffects,
  sliceDeletions,
  slicesOf,
  sliceWrites,
  type WantedSlices,
} from './slice-writes.ts'
import { type HintsProblem, zoneHints } from './zone-hints.ts'

/** A slice without endpoints shows that the controller has run and found none. */
const EMPTY_GROUP: WantedGroup = { ports: [], endpoints: [] }

const NO_HINTS = 'EndpointSlices carry no zone hints, and nodes use the endpoints of all zones'
const HINTS = 'EndpointSlices carry hints by which nodes use endpoints for their own zone.'
const NOT_REQUESTED = 'No annotation of the Service requests zone hints.'

/** The key that stands for all Services with hints in proportion to processors; no Service has it. */
const CAPACITY_KEY = 'zone capacity'

const MANAGER = 'endpointslice-controller.k8s.io'
/** `--max-endpoints-per-slice` of kube-controller-manager. */
const MAX_ENDPOINTS = 100
/**
 * The delay after a change of the capacity, so that thousands of Nodes that become ready together cost few
 * reconciles of the Services.
 */
const CAPACITY_DELAY_MS = 1000

/**
 * Writes the EndpointSlices of every Service with a selector. It manages the slices whose labels name
 * this controller and a Service, and deletes them when that Service is gone, has no selector or is an
 * ExternalName.
 */
export const endpointSlicesController: Controller = {
  name: 'endpointslices',
  account: 'endpointslice-controller',
  watches: {
    services: ({ key }) => [key],
    pods: servicesOfPodChange,
    nodes: nodeAffects,
    endpointslices: sliceAffects(MANAGER),
  },
  delayMs: (key) => (key === CAPACITY_KEY ? CAPACITY_DELAY_MS : 0),
  reconcile,
}

function reconcile(key: string, view: View, now: number): Reconciliation {
  if (key === CAPACITY_KEY) return { writes: [], dirty: servicesByCapacity(view) }
  const service = view.services.get(key)
  const existing = slicesOf(key, view, MANAGER)
  if (service === undefined) {
    return { writes: sliceDeletions(existing, [objectNamed('services', key)]) }
  }
  if (service.selector === undefined || service.isExternalName) {
    return { writes: [...sliceDeletions(existing), ...hintsReport(service, undefined, now)] }
  }
  const zoneOf = (nodeName: string): string => view.nodes.get(nodeName)?.zone ?? ''
  const capacity = readCapacity(view.nodes.totals())
  const { wanted, problem } = serviceSlices(service, podsOf(service, view), { zoneOf, capacity })
  const writes = sliceWrites(existing, wanted, templateOf(service))
  return { writes: [...writes, ...hintsReport(service, problem, now)] }
}

function templateOf(service: ServiceObject): SliceTemplate {
  const { namespace, name } = service.meta
  return {
    namespace,
    service: name,
    labels: {
      ...serviceLabels(service),
      [SERVICE_NAME]: name,
      [SLICE_MANAGED_BY]: MANAGER,
    },
    annotations: {},
    owner: ownerReference('Service', service.meta),
    ownerTerminating: service.meta.terminating,
    maxEndpoints: MAX_ENDPOINTS,
  }
}

/**
 * The Services with Pods on a node whose zone changed, and `CAPACITY_KEY` when the capacity of the node
 * changed. A heartbeat affects neither.
 */
function nodeAffects(
  { key, before, after }: ObjectChange<NodeObject>,
  view: View,
): readonly string[] {
  const moved = before?.zone === after?.zone ? [] : servicesOnNode(key, view)
  const [was, is] = [before, after].map((node) => (node === undefined ? [] : capacityOf(node)))
  const isCapacityIrrelevant =
    isDeepEqual(was, is) || view.services.groupSize(AUTO_HINTS_GROUP) === 0
  return isCapacityIrrelevant ? moved : [...moved, CAPACITY_KEY]
}

/** The Services with hints in proportion to the processors of each zone. */
function servicesByCapacity(view: View): readonly string[] {
  return [...view.services.group(AUTO_HINTS_GROUP)].map(({ meta }) => meta.key)
}

type Report = Pick<EventContent, 'type' | 'reason' | 'message'>

/**
 * The writes that report whether a Service has the zone hints that its annotation requests: a condition in its
 * status, which also records what was reported, and one Event for each change of status or reason.
 */
function hintsReport(
  service: ServiceObject,
  problem: HintsProblem | undefined,
  now: number,
): readonly Write[] {
  const { meta, topologyCondition: known } = service
  const wanted = wantedCondition(service, problem)
  if (wanted === undefined || conditionMatches(known, wanted)) return []
  const patch = statusPatch('services', meta, { conditions: [setCondition(known, wanted, now)] })
  const report = reportOf(service, wanted, problem)
  if (report === undefined) return [patch]
  const subject = { apiVersion: 'v1', kind: 'Service', meta }
  const content = { controller: 'endpointslices', ...report }
  return [patch, eventWrite(subject, content, now)]
}

/** Undefined: the Service has no condition and needs none, because it never requested hints. */
function wantedCondition(
  { distribution, selector, isExternalName, topologyCondition }: ServiceObject,
  problem: HintsProblem | undefined,
): WantedCondition | undefined {
  const type = TOPOLOGY_CONDITION
  if (distribution !== 'Auto' || selector === undefined || isExternalName) {
    const wasReported = topologyCondition.status !== ''
    const status = 'Unknown'
    return wasReported ? { type, status, reason: 'NotWanted', message: NOT_REQUESTED } : undefined
  }
  if (problem === undefined) return { type, status: 'True', reason: 'Written', message: HINTS }
  const { reason, message } = problem
  return { type, status: 'False', reason, message: `${NO_HINTS}: ${message}.` }
}

function reportOf(
  { topologyCondition: known }: ServiceObject,
  { status, reason }: WantedCondition,
  problem: HintsProblem | undefined,
): Report | undefined {
  if (known.status === status && known.reason === reason) return undefined
  if (status === 'True') {
    return { type: 'Normal', reason: 'TopologyAwareHintsEnabled', message: HINTS }
  }
  if (status === 'False' && problem !== undefined) {
    const message = `${NO_HINTS}: ${problem.message} (${problem.detail}).`
    return { type: 'Warning', reason: 'TopologyAwareHintsDisabled', message }
  }
  if (known.status !== 'True') return undefined
  return { type: 'Normal', reason: 'TopologyAwareHintsDisabled', message: NOT_REQUESTED }
}

/** The zone of a node; empty when unknown. */
type ZoneOf = (nodeName: string) => string

/** The facts about Nodes on which endpoints depend. */
interface Placement {
  readonly zoneOf: ZoneOf
  readonly capacity: ZoneCapacity
}

/** The endpoints for the slices of a Service. */
interface ServiceSlices {
  readonly wanted: WantedSlices
  /** Why an address type has no hints although an annotation requests them. */
  readonly problem: HintsProblem | undefined
}

interface PortedEndpoint extends WantedEndpoint {
  readonly ports: readonly JsonObject[]
}

/**
 * The endpoints of a Service, for each of its IP families, grouped by their ports. Pods that are being deleted
 * stay until they are gone: nodes may let their connections end (KEP-1672). Hints are distributed over all
 * endpoints of a family.
 */
function serviceSlices(
  service: ServiceObject,
  pods: readonly PodObject[],
  { zoneOf, capacity }: Placement,
): ServiceSlices {
  const families = service.families.map((family) => {
    const found = candidatesOf(service, pods, family).map((candidate): PortedEndpoint => {
      const body = endpointOf(candidate, service, zoneOf)
      return { id: endpointId(body), body, changedAt: candidate.changedAt, ports: candidate.ports }
    })
    return {
      addressType: ADDRESS_TYPES[family],
      ...addHints(found, service.distribution, capacity),
    }
  })
  const wanted = families.map(({ addressType, endpoints }) => {
    const groups = [...Map.groupBy(endpoints, ({ ports }) => portsKey(ports)).values()].map(groupOf)
    return [addressType, groups.length === 0 ? [EMPTY_GROUP] : groups] as const
  })
  const problems = families.flatMap(({ addressType, problem }) =>
    problem === undefined ? [] : { ...problem, detail: `${addressType}, ${problem.detail}` },
  )
  return { wanted: new Map(wanted), problem: problems[0] }
}

function groupOf(endpoints: readonly PortedEndpoint[]): WantedGroup {
  return { ports: endpoints[0]?.ports ?? [], endpoints }
}

function endpointOf({ pod, ip }: Candidate, service: ServiceObject, zoneOf: ZoneOf): JsonObject {
  const { ready: serving, nodeName } = pod
  const { terminating } = pod.meta
  const zone = zoneOf(nodeName)
  const ready = service.publishNotReadyAddresses || (serving && !terminating)
  return {
    addresses: [ip],
    conditions: { ready, serving, terminating },
    ...hostOf(pod, service),
    ...(zone === '' ? {} : { zone }),
    targetRef: targetRefOf(pod),
  }
}

/** The part of an endpoint on which hints depend. */
interface HintableEndpoint {
  /** Equal for the same Pod at the same address. */
  readonly id: string
  /** The endpoint as an EndpointSlice holds it. */
  readonly body: JsonObject
}

/** Endpoints with their hints. */
interface HintedEndpoints<T> {
  readonly endpoints: readonly T[]
  /** Why there are no hints although an annotation requests them. */
  readonly problem?: HintsProblem | undefined
}

/**
 * The endpoints of one address type with the hints by which nodes choose among them.
 * Only ready ones carry hints: nodes use no other endpoints.
 */
function addHints<T extends HintableEndpoint>(
  endpoints: readonly T[],
  distribution: TrafficDistribution | undefined,
  capacity: ZoneCapacity,
): HintedEndpoints<T> {
  if (distribution === undefined) return { endpoints }
  if (distribution !== 'Auto') {
    return { endpoints: endpoints.map((one) => withHints(one, near(one.body, distribution))) }
  }
  const placed = endpoints.filter(isReady).map(({ id, body }) => ({ id, zone: zoneOf(body) }))
  const { problem, ...found } = zoneHints(placed, capacity)
  if (problem !== undefined || !('zones' in found)) return { endpoints, problem }
  const hinted = endpoints.map((one) => withHints(one, forZones(found.zones.get(one.id) ?? '')))
  return { endpoints: hinted }
}

function withHints<T extends HintableEndpoint>(endpoint: T, hints: JsonObject): T {
  if (!isReady(endpoint) || Object.keys(hints).length === 0) return endpoint
  return { ...endpoint, body: { ...endpoint.body, hints } }
}

/** Hints for the zone and, with `SameNode`, the node of an endpoint, if they are known. */
function near(body: JsonObject, distribution: 'SameZone' | 'SameNode'): JsonObject {
  const nodeName = distribution === 'SameNode' ? stringAt(body, 'nodeName') : ''
  return {
    ...forZones(zoneOf(body)),
    ...(nodeName === '' ? {} : { forNodes: [{ name: nodeName }] }),
  }
}

function forZones(name: string): JsonObject {
  return name === '' ? {} : { forZones: [{ name }] }
}

function zoneOf(body: JsonObject): string {
  return stringAt(body, 'zone')
}
