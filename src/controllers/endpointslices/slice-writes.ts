import { isDeepEqual } from '../../lib/equal.ts'
import type { Family } from '../../lib/ip.ts'
import type { JsonObject } from '../../lib/json.ts'
import { SLICE_MANAGED_BY, TRIGGER_TIME } from '../../resources/label-names.ts'
import { triggerTime } from '../backends/trigger-time.ts'
import type { View } from '../cache/view.ts'
import type { StringMap } from '../objects/object-meta.ts'
import type { SliceObject } from '../objects/slice-object.ts'
import type { WantedMap } from '../objects/string-map.ts'
import { adjustMap, isEmpty, replaceMap } from '../objects/string-map.ts'
import type { ObjectIdentity, Write } from '../runner/writing/write.ts'
import type { PackedSlice, WantedEndpoint, WantedGroup } from './slice-packing.ts'
import { endpointId, packSlices } from './slice-packing.ts'

/** What all slices of one Service from one controller have in common. */
export interface SliceTemplate {
  readonly namespace: string
  /** Of the Service: slices are called `<name>-…`. */
  readonly service: string
  readonly labels: StringMap
  /** Those that are named are set or removed; others are left as they are. */
  readonly annotations: WantedMap
  readonly owner: JsonObject
  /** The owner is being deleted and may wait for its slices: there are to be no new ones. */
  readonly leaving: boolean
  /** Endpoints of one slice at most. */
  readonly most: number
}

export type AddressType = 'IPv4' | 'IPv6'

export const ADDRESS_TYPES: Readonly<Record<Family, AddressType>> = { 4: 'IPv4', 6: 'IPv6' }

/** What is wanted, by address type; an address type that is not named has no slices. */
export type WantedSlices = ReadonlyMap<AddressType, readonly WantedGroup[]>

/** The slices of a Service (`namespace/name`) that belong to a controller and stay. */
export function slicesOf(key: string, view: View, manager: string): readonly SliceObject[] {
  return [...view.endpointslices.group(key)].filter(
    ({ meta }) => meta.labels[SLICE_MANAGED_BY] === manager && !meta.terminating,
  )
}

/**
 * The writes that lead from the slices there are to those that are wanted.
 * Deletions come last: no endpoint is missing in between.
 */
export function sliceWrites(
  existing: readonly SliceObject[],
  wanted: WantedSlices,
  template: SliceTemplate,
): readonly Write[] {
  const isStale = (slice: SliceObject): boolean => !isEmpty(metadataPatch(slice, template))
  const byType = Map.groupBy(existing, ({ addressType }) => addressType)
  const packings = [...wanted].map(([addressType, groups]) => {
    const packing = packSlices(byType.get(addressType) ?? [], groups, { ...template, isStale })
    return { ...packing, addressType }
  })
  const unwanted = existing.filter((slice) => !wanted.has(slice.addressType as AddressType))
  return [
    ...packings.flatMap(({ slices, addressType }) =>
      slices.flatMap((one) => writesOf(one, addressType, template)),
    ),
    ...sliceDeletions([...packings.flatMap(({ surplus }) => surplus), ...unwanted]),
  ]
}

/** They go only if the server says that what is `absent` is gone: what cannot be read is not. */
export function sliceDeletions(
  slices: readonly SliceObject[],
  absent: readonly ObjectIdentity[] = [],
): readonly Write[] {
  return slices.map(({ meta }) => ({ verb: 'delete', collection: 'endpointslices', meta, absent }))
}

/** Whatever has the key of a Service (`namespace/name`) in a collection. */
export function anyOf(collection: 'services' | 'endpoints', key: string): ObjectIdentity {
  const slash = key.indexOf('/')
  return { collection, namespace: key.slice(0, slash), name: key.slice(slash + 1), uid: '' }
}

function writesOf(
  packed: PackedSlice,
  addressType: AddressType,
  template: SliceTemplate,
): readonly Write[] {
  const { slice, endpoints } = packed
  if (slice === undefined) {
    return template.leaving ? [] : [creation(packed, addressType, template)]
  }
  const metadata = metadataPatch(slice, template)
  const bodies = endpoints.map(({ body }) => body)
  const ports = [...packed.ports]
  const isSettled =
    isEmpty(metadata) && isDeepEqual(slice.ports, ports) && isDeepEqual(slice.endpoints, bodies)
  if (isSettled) return []
  const annotations = adjustMap(slice.meta.annotations, {
    ...template.annotations,
    [TRIGGER_TIME]: triggerTime(timesOfChanges(slice, endpoints), slice.meta.annotations),
  })
  const body = { metadata: { ...metadata, annotations }, ports, endpoints: bodies }
  return [{ verb: 'patch', collection: 'endpointslices', meta: slice.meta, body }]
}

function creation(
  { ports, endpoints }: PackedSlice,
  addressType: AddressType,
  { namespace, service, labels, annotations, owner }: SliceTemplate,
): Write {
  const time = triggerTime(
    endpoints.map(({ since }) => since),
    {},
  )
  const metadata = {
    generateName: `${service}-`,
    namespace,
    labels,
    annotations: adjustMap({}, { ...annotations, [TRIGGER_TIME]: time }),
    ownerReferences: [owner],
  }
  const body = {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata,
    addressType,
    ports: [...ports],
    endpoints: endpoints.map((one) => one.body),
  }
  return { verb: 'create', collection: 'endpointslices', namespace, name: '', body }
}

/** What of a slice's metadata is not as it should be; the trigger time does not count. */
function metadataPatch({ meta, owners }: SliceObject, template: SliceTemplate): JsonObject {
  const labels = replaceMap(meta.labels, template.labels)
  const annotations = adjustMap(meta.annotations, template.annotations)
  return {
    ...(isEmpty(labels) ? {} : { labels }),
    ...(isEmpty(annotations) ? {} : { annotations }),
    ...(isDeepEqual(owners, [template.owner]) ? {} : { ownerReferences: [template.owner] }),
  }
}

function timesOfChanges(slice: SliceObject, wanted: readonly WantedEndpoint[]): readonly string[] {
  const known = new Map(slice.endpoints.map((one) => [endpointId(one), one]))
  return wanted.filter(({ id, body }) => !isDeepEqual(known.get(id), body)).map((one) => one.since)
}
