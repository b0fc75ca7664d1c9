import { isDeepEqual } from '../../lib/equal.ts'
import type { Json, JsonObject } from '../../lib/json.ts'
import { arrayAt, isJsonObject, objectAt, stringAt, without } from '../../lib/json.ts'
import { ENDPOINTS_MANAGED_BY, OVER_CAPACITY, TRIGGER_TIME } from '../../resources/label-names.ts'
import { serviceLabels } from '../backends/service-labels.ts'
import { triggerTime } from '../backends/trigger-time.ts'
import type { EndpointsObject } from '../objects/endpoints-object.ts'
import type { PodObject } from '../objects/pod-object.ts'
import type { ServiceObject } from '../objects/service-object.ts'
import { isEmpty, keysPatch, replacementPatch } from '../objects/string-map.ts'
import type { Write } from '../runner/writing/write.ts'
import type { EndpointAddress } from './subsets.ts'
import { endpointAddresses, MAX_ADDRESSES, subsetsOf } from './subsets.ts'

/** Value of the label `managed-by` of the Endpoints that this controller writes, as in Kubernetes. */
export const ENDPOINTS_MANAGER = 'endpoint-controller'

/**
 * At most one write, which makes the Endpoints of a Service list the addresses of its Pods. `pods` are
 * those that it selects; `existing` is undefined while it has no Endpoints object.
 */
export function endpointsWrites(
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

/** A subset without the field `targetRef.resourceVersion`, which other clients may add. */
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

/** When the addresses changed that are new or have another readiness than in `existing`, RFC 3339. */
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
