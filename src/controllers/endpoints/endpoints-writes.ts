import { isDeepEqual } from '../../lib/equal.ts'
import type { Json, JsonObject } from '../../lib/json.ts'
import { arrayAt, isJsonObject, objectAt, stringAt, without } from '../../lib/json.ts'
import { ENDPOINTS_MANAGED_BY, OVER_CAPACITY, TRIGGER_TIME } from '../../resources/label-names.ts'
import { serviceLabels } from '../backends/service-labels.ts'
import { triggerTime } from '../backends/trigger-time.ts'
import type { EndpointsObject } from '../objects/endpoints-object.ts'
import type { PodObject } from '../objects/pod-object.ts'
import type { ServiceObject } from '../objects/service-object.ts'
import { adjustMap, isEmpty, replaceMap } from '../objects/string-map.ts'
import type { Write } from '../runner/writing/write.ts'
import type { Member } from './subsets.ts'
import { membersOf, subsetsOf, truncate } from './subsets.ts'

/** Value of the label that tells our Endpoints from those that people write. */
export const MANAGER = 'endpoint-controller'

/** What makes the Endpoints of a Service what its Pods say; nothing when they are. */
export function endpointsWrites(
  service: ServiceObject,
  pods: readonly PodObject[],
  existing: EndpointsObject | undefined,
): readonly Write[] {
  const { members, truncated } = truncate(membersOf(service, pods))
  const subsets = subsetsOf(service, members)
  const labels = { ...serviceLabels(service), [ENDPOINTS_MANAGED_BY]: MANAGER }
  const capacity = { [OVER_CAPACITY]: truncated ? 'truncated' : undefined }
  if (existing === undefined) {
    return [create(service, { subsets, labels, annotations: adjustMap({}, capacity) })]
  }
  const { meta } = existing
  const labelPatch = replaceMap(meta.labels, labels)
  const isSettled =
    isEmpty(labelPatch) &&
    isEmpty(adjustMap(meta.annotations, capacity)) &&
    isDeepEqual(existing.subsets.map(comparable), subsets)
  if (isSettled) return []
  const time = triggerTime(timesOfChanges(existing, members), meta.annotations)
  const wanted = { ...capacity, [TRIGGER_TIME]: time }
  const annotations = adjustMap(meta.annotations, wanted)
  const body = { metadata: { labels: labelPatch, annotations }, subsets }
  return [{ verb: 'patch', collection: 'endpoints', meta, body }]
}

function create(
  { meta }: ServiceObject,
  {
    subsets,
    labels,
    annotations,
  }: Readonly<Record<'labels' | 'annotations', JsonObject>> & {
    readonly subsets: JsonObject[]
  },
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

/** A subset without what others may add and nobody reads. */
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

/** When those changed that come, or whose readiness is not what it was. */
function timesOfChanges(existing: EndpointsObject, members: readonly Member[]): readonly string[] {
  const known = new Set(existing.subsets.flatMap(statesOf))
  return members
    .filter(({ pod, ip, ready }) => !known.has(`${ready} ${ip} ${pod.meta.uid}`))
    .map(({ since }) => since)
}

function statesOf(subset: JsonObject): readonly string[] {
  const state = (ready: boolean, list: string): readonly string[] =>
    arrayAt(subset, list).map(
      (one) => `${ready} ${stringAt(one, 'ip')} ${stringAt(one, 'targetRef', 'uid')}`,
    )
  return [...state(true, 'addresses'), ...state(false, 'notReadyAddresses')]
}
