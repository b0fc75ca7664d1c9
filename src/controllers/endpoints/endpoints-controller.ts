import { isDeepEqual } from '../../lib/equal.ts'
import {
  arrayAt,
  isJsonObject,
  type Json,
  type JsonObject,
  objectAt,
  stringAt,
  without,
} from '../../lib/json.ts'
import { ENDPOINTS_MANAGED_BY, OVER_CAPACITY, TRIGGER_TIME } from '../../resources/label-names.ts'
import type { View } from '../cache/object-cache.ts'
import { podsOf, servicesOfPodChange } from '../cache/selection.ts'
import { isEmpty, keysPatch, replacementPatch } from '../objects/object-meta.ts'
import { type EndpointsObject, isElectionLock } from '../objects/plain-objects.ts'
import type { PodObject } from '../objects/pod-object.ts'
import type { ServiceObject } from '../objects/service-object.ts'
import { type Controller, type Reconciliation, SETTLED } from '../runner/controller.ts'
import { type ObjectIdentity, objectNamed, type Write } from '../runner/write.ts'
import {
  type Candidate,
  candidatesOf,
  hostOf,
  portsKey,
  serviceLabels,
  targetRefOf,
  triggerTime,
} from './candidate.ts'

/** Addresses in all subsets of one Endpoints object together, as in Kubernetes. */
const MAX_ADDRESSES = 1000

/** Value of the label `managed-by` of the Endpoints that this controller writes, as in Kubernetes. */
const ENDPOINTS_MANAGER = 'endpoint-controller'

/**
 * How long hand-written Endpoints may exist without a Service, in milliseconds: `kubectl apply` creates
 * Endpoints before Services.
 */
const ORPHAN_GRACE_MS = 60_000

/**
 * Writes the Endpoints of every Service with a selector, and deletes Endpoints without a Service. A key is
 * `namespace/name` of a Service and of its Endpoints. The controller watches both, so that it reverts
 * changes by other clients.
 */
export const endpointsController: Controller = {
  name: 'endpoints',
  account: 'endpoint-controller',
  watches: {
    services: ({ key }) => [key],
    pods: servicesOfPodChange,
    endpoints: ({ key }) => [key],
  },
  reconcile,
}

function reconcile(key: string, view: View, now: number): Reconciliation {
  const service = view.services.get(key)
  const existing = view.endpoints.get(key)
  if (service === undefined) return existing === undefined ? SETTLED : deleteOrphan(existing, now)
  if (service.isExternalName) {
    return existing !== undefined && isOurs(existing) ? deletion(existing) : SETTLED
  }
  if (service.selector === undefined) return SETTLED
  return { writes: endpointsWrites(service, podsOf(service, view), existing) }
}

/** The Service of these Endpoints was deleted, or is not created yet. */
function deleteOrphan(existing: EndpointsObject, now: number): Reconciliation {
  const { meta } = existing
  if (isElectionLock(existing)) return SETTLED
  const waitMs = isOurs(existing) ? 0 : Date.parse(meta.createdAt) + ORPHAN_GRACE_MS - now
  if (waitMs > 0) return { writes: [], againMs: waitMs }
  return deletion(existing, [objectNamed('services', meta.key)])
}

function isOurs({ meta }: EndpointsObject): boolean {
  return meta.labels[ENDPOINTS_MANAGED_BY] === ENDPOINTS_MANAGER
}

function deletion(
  { meta }: EndpointsObject,
  absent: readonly ObjectIdentity[] = [],
): Reconciliation {
  if (meta.terminating) return SETTLED
  return { writes: [{ verb: 'delete', collection: 'endpoints', meta, absent }] }
}

/**
 * The write, if one is needed, that makes the Endpoints of a Service list the addresses of its Pods. `pods`:
 * those that the Service selects; `existing`: undefined while it has no Endpoints object.
 */
function endpointsWrites(
  service: ServiceObject,
  pods: readonly PodObject[],
  existing: EndpointsObject | undefined,
): readonly Write[] {
  const all = endpointAddresses(service, pods)
  const addresses = all.slice(0, MAX_ADDRESSES)
  const subsets = subsetsOf(service, addresses)
  const labels = { ...serviceLabels(service), [ENDPOINTS_MANAGED_BY]: ENDPOINTS_MANAGER }
  const capacity = { [OVER_CAPACITY]: all.length > MAX_ADDRESSES ? 'truncated' : undefined }
  if (existing === undefined) {
    return [creation(service, { subsets, labels, annotations: keysPatch({}, capacity) })]
  }
  const { meta } = existing
  const labelPatch = replacementPatch(meta.labels, labels)
  const isSettled =
    isEmpty(labelPatch) &&
    isEmpty(keysPatch(meta.annotations, capacity)) &&
    isDeepEqual(existing.subsets.map(comparable), subsets)
  if (isSettled) return []
  const time = triggerTime(timesOfChanges(existing, addresses), meta.annotations)
  const wanted = { ...capacity, [TRIGGER_TIME]: time }
  const annotations = keysPatch(meta.annotations, wanted)
  const body = { metadata: { labels: labelPatch, annotations }, subsets }
  return [{ verb: 'patch', collection: 'endpoints', meta, body }]
}

interface EndpointsContent {
  readonly subsets: JsonObject[]
  readonly labels: JsonObject
  readonly annotations: JsonObject
}

function creation(
  { meta }: ServiceObject,
  { subsets, labels, annotations }: EndpointsContent,
): Write {
  const { namespace, name } = meta
  const time = triggerTime([meta.createdAt], {})
  const timed = time === undefined ? annotations : { ...annotations, [TRIGGER_TIME]: time }
  const body = {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: { name, namespace, labels, annotations: timed },
    subsets,
  }
  return { verb: 'create', collection: 'endpoints', namespace, name, body }
}

/** A subset for comparison, without the field `targetRef.resourceVersion`, which other clients may add. */
function comparable(subset: JsonObject): JsonObject {
  const lists = ['addresses', 'notReadyAddresses'].filter((list) => Object.hasOwn(subset, list))
  const stripped = lists.map((list): [string, Json] => [
    list,
    arrayAt(subset, list).map((one) => {
      if (!isJsonObject(one) || !Object.hasOwn(one, 'targetRef')) return one
      return { ...one, targetRef: without(objectAt(one, 'targetRef'), 'resourceVersion') }
    }),
  ])
  return { ...subset, ...Object.fromEntries(stripped) }
}

/** When the addresses changed that `existing` does not list, or lists with another readiness; RFC 3339. */
function timesOfChanges(
  existing: EndpointsObject,
  addresses: readonly EndpointAddress[],
): readonly string[] {
  const known = new Set(existing.subsets.flatMap(statesOf))
  return addresses
    .filter(({ pod, ip, ready }) => !known.has(`${ready} ${ip} ${pod.meta.uid}`))
    .map(({ changedAt }) => changedAt)
}

/** `<ready> <ip> <uid of the Pod>` for each address of a subset. */
function statesOf(subset: JsonObject): readonly string[] {
  const state = (ready: boolean, list: string): readonly string[] =>
    arrayAt(subset, list).map(
      (one) => `${ready} ${stringAt(one, 'ip')} ${stringAt(one, 'targetRef', 'uid')}`,
    )
  return [...state(true, 'addresses'), ...state(false, 'notReadyAddresses')]
}

/** One address in the Endpoints of a Service: a Pod, and the list of the subset in which its address belongs. */
interface EndpointAddress extends Candidate {
  /** True: in `addresses`; false: in `notReadyAddresses`. */
  readonly ready: boolean
}

/**
 * The Pods that belong in a Service's Endpoints, with their address of the Service's first IP family. Pods that
 * are being deleted are left out; with `publishNotReadyAddresses` they stay, and every Pod counts as ready.
 * Ready ones come first; otherwise they are sorted by address as text.
 */
function endpointAddresses(
  service: ServiceObject,
  pods: readonly PodObject[],
): readonly EndpointAddress[] {
  const [family = 4] = service.families
  return candidatesOf(service, pods, family)
    .filter(({ pod }) => service.publishNotReadyAddresses || !pod.meta.terminating)
    .map((one) => ({ ...one, ready: service.publishNotReadyAddresses || one.pod.ready }))
    .toSorted((a, b) => Number(b.ready) - Number(a.ready))
}

/** One subset for each set of ports, sorted by `portsKey`. */
function subsetsOf(service: ServiceObject, addresses: readonly EndpointAddress[]): JsonObject[] {
  const groups = Map.groupBy(addresses, ({ ports }) => portsKey(ports))
  return [...groups]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([, group]) => subsetOf(service, group))
}

function subsetOf(service: ServiceObject, group: readonly EndpointAddress[]): JsonObject {
  const [ready, notReady] = [true, false].map((isReady) =>
    group.filter((one) => one.ready === isReady).map((one) => addressOf(service, one)),
  )
  return {
    ...(ready?.length ? { addresses: ready } : {}),
    ...(notReady?.length ? { notReadyAddresses: notReady } : {}),
    ...(group[0]?.ports.length ? { ports: group[0].ports.map(withoutEmptyName) } : {}),
  }
}

function addressOf(service: ServiceObject, { pod, ip }: EndpointAddress): JsonObject {
  return { ip, ...hostOf(pod, service), targetRef: targetRefOf(pod) }
}

function withoutEmptyName({ name, ...port }: JsonObject): JsonObject {
  return name === undefined || name === '' ? port : { name, ...port }
}
