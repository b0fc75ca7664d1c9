import { isDeepEqual } from '../../lib/equal.ts'
import type { Family } from '../../lib/ip.ts'
import type { JsonObject } from '../../lib/json.ts'
import { SERVICE_NAME, SLICE_MANAGED_BY, TRIGGER_TIME } from '../../resources/label-names.ts'
import type { View } from '../cache/object-cache.ts'
import type { Affects } from '../cache/selection.ts'
import {
  isEmpty,
  keysPatch,
  type ObjectMeta,
  replacementPatch,
  type StringMap,
  type WantedKeys,
} from '../objects/object-meta.ts'
import type { SliceObject } from '../objects/plain-objects.ts'
import type { ObjectIdentity, Write } from '../runner/write.ts'
import { triggerTime } from './candidate.ts'
import {
  endpointId,
  type PackedSlice,
  packSlices,
  type WantedEndpoint,
  type WantedGroup,
} from './slice-packing.ts'

/** What all slices of one Service that one controller manages have in common. */
export interface SliceTemplate {
  readonly namespace: string
  /** Name of the Service; the names of its slices begin with it. */
  readonly service: string
  readonly labels: StringMap
  /** Keys to set or to remove; all other keys are left unchanged. */
  readonly annotations: WantedKeys
  readonly owner: JsonObject
  /** The owner is being deleted and may wait for the deletion of its slices, so no new ones are created. */
  readonly ownerTerminating: boolean
  /** The maximum number of endpoints in one slice. */
  readonly maxEndpoints: number
}

/** The address types that controllers write. */
export type AddressType = 'IPv4' | 'IPv6'

/** The address type of each IP family. */
export const ADDRESS_TYPES: Readonly<Record<Family, AddressType>> = { 4: 'IPv4', 6: 'IPv6' }

/** The groups of endpoints that slices are to hold, by address type; an absent address type has no slices. */
export type WantedSlices = ReadonlyMap<AddressType, readonly WantedGroup[]>

/** The slices of a Service (`namespace/name`) that a controller manages, without those being deleted. */
export function slicesOf(key: string, view: View, manager: string): readonly SliceObject[] {
  return [...view.endpointslices.group(key)].filter(
    ({ meta }) => meta.labels[SLICE_MANAGED_BY] === manager && !meta.terminating,
  )
}

/**
 * The writes that turn the existing slices into the wanted ones. Deletions come last, so that no
 * endpoint is missing between two writes.
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

/** Deletions that the server carries out only while none of the `absent` objects exists. */
export function sliceDeletions(
  slices: readonly SliceObject[],
  absent: readonly ObjectIdentity[] = [],
): readonly Write[] {
  return slices.map(({ meta }) => ({ verb: 'delete', collection: 'endpointslices', meta, absent }))
}

function writesOf(
  packed: PackedSlice,
  addressType: AddressType,
  template: SliceTemplate,
): readonly Write[] {
  const { slice, endpoints } = packed
  if (slice === undefined) {
    return template.ownerTerminating ? [] : [creation(packed, addressType, template)]
  }
  const metadata = metadataPatch(slice, template)
  const bodies = endpoints.map(({ body }) => body)
  const ports = [...packed.ports]
  const isSettled =
    isEmpty(metadata) && isDeepEqual(slice.ports, ports) && isDeepEqual(slice.endpoints, bodies)
  if (isSettled) return []
  const annotations = keysPatch(slice.meta.annotations, {
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
    endpoints.map(({ changedAt }) => changedAt),
    {},
  )
  const metadata = {
    generateName: `${service}-`,
    namespace,
    labels,
    annotations: keysPatch({}, { ...annotations, [TRIGGER_TIME]: time }),
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

/** The patch of the metadata of a slice, without the trigger time; empty if none is needed. */
function metadataPatch({ meta }: SliceObject, template: SliceTemplate): JsonObject {
  const owners = meta.owners.map(({ reference }) => reference)
  const labels = replacementPatch(meta.labels, template.labels)
  const annotations = keysPatch(meta.annotations, template.annotations)
  return {
    ...(isEmpty(labels) ? {} : { labels }),
    ...(isEmpty(annotations) ? {} : { annotations }),
    ...(isDeepEqual(owners, [template.owner]) ? {} : { ownerReferences: [template.owner] }),
  }
}

/** The times (RFC 3339) at which those endpoints changed that differ from the slice. */
function timesOfChanges(slice: SliceObject, wanted: readonly WantedEndpoint[]): readonly string[] {
  const known = new Map(slice.endpoints.map((one) => [endpointId(one), one]))
  return wanted
    .filter(({ id, body }) => !isDeepEqual(known.get(id), body))
    .map((one) => one.changedAt)
}

/** The Services that a slice of one controller belonged to or belongs to. */
export function sliceAffects(manager: string): Affects<SliceObject> {
  return ({ before, after }) =>
    [before, after]
      .filter((slice) => slice?.meta.labels[SLICE_MANAGED_BY] === manager)
      .map((slice) => `${slice?.meta.namespace}/${slice?.meta.labels[SERVICE_NAME] ?? ''}`)
}

/** The owner reference of a slice, so that the garbage collector deletes the slice after its Service or Endpoints. */
export function ownerReference(
  kind: 'Service' | 'Endpoints',
  { name, uid }: ObjectMeta,
): JsonObject {
  return { apiVersion: 'v1', kind, name, uid, controller: true, blockOwnerDeletion: true }
}
