import { isDeepEqual } from '../../lib/equal.ts'
import { arrayAt, type JsonObject, objectAt, scalarText, stringAt } from '../../lib/json.ts'
import type { SliceObject } from '../objects/plain-objects.ts'
import { portsKey } from './candidate.ts'

/** An endpoint that a slice is to hold. */
export interface WantedEndpoint {
  /** Equal to `endpointId` of the endpoint in a slice. */
  readonly id: string
  /** The endpoint as an EndpointSlice holds it. */
  readonly body: JsonObject
  /** When the endpoint last changed, RFC 3339; empty when unknown. */
  readonly changedAt: string
}

/** Endpoints that may share slices, each id once. */
export interface WantedGroup {
  readonly ports: readonly JsonObject[]
  readonly endpoints: readonly WantedEndpoint[]
}

/** A slice with the ports and endpoints that it is to have. */
export interface PackedSlice {
  /** The existing slice that is patched; undefined for a new one. */
  readonly slice: SliceObject | undefined
  readonly ports: readonly JsonObject[]
  readonly endpoints: readonly WantedEndpoint[]
}

/** How endpoints are spread over slices. */
export interface Packing {
  readonly slices: readonly PackedSlice[]
  /** Existing slices that hold no wanted endpoint. */
  readonly surplus: readonly SliceObject[]
}

/** See `packSlices`. */
export interface PackingRules {
  /** The maximum number of endpoints in one slice. */
  readonly maxEndpoints: number
  /** Whether the slice will be written anyway, whatever its endpoints. */
  readonly isStale: (slice: SliceObject) => boolean
}

interface Slot extends PackedSlice {
  readonly touched: boolean
  endpoints: readonly WantedEndpoint[]
}

/**
 * Spreads endpoints of one address type over slices with few writes (KEP-752): an endpoint stays in its slice.
 * New endpoints fill slices that are written anyway, then full new slices; the rest goes into the fullest other slice that
 * has space for it, or else into one more new slice. Empty slices are reused in place of new ones; only those that remain are
 * deleted (`surplus`).
 */
export function packSlices(
  existing: readonly SliceObject[],
  groups: readonly WantedGroup[],
  rules: PackingRules,
): Packing {
  const byPorts = Map.groupBy(existing.toSorted(byName), ({ ports }) => portsKey(ports))
  const packed = groups.flatMap((group) => {
    return packGroup(byPorts.get(portsKey(group.ports)) ?? [], group, rules)
  })
  const used = new Set(packed.map(({ slice }) => slice))
  const spare = existing.filter((slice) => !used.has(slice)).toSorted(byName)
  const slices = packed.map((one) => (one.slice ? one : { ...one, slice: spare.shift() }))
  return { slices, surplus: spare }
}

/** Whether an endpoint of a slice is ready, and says so. */
export function isReady({ body }: Pick<WantedEndpoint, 'body'>): boolean {
  return objectAt(body, 'conditions')['ready'] === true
}

/** Equal for two states of one endpoint: the same Pod (`targetRef.uid`) at the same address. */
export function endpointId(endpoint: JsonObject): string {
  const [address] = arrayAt(endpoint, 'addresses')
  return `${scalarText(address)} ${stringAt(endpoint, 'targetRef', 'uid')}`
}

function packGroup(
  existing: readonly SliceObject[],
  { ports, endpoints }: WantedGroup,
  { maxEndpoints, isStale }: PackingRules,
): readonly PackedSlice[] {
  const rest = new Map(endpoints.map((one) => [one.id, one]))
  const slots = existing.map((slice): Slot => {
    const kept = keep(slice, rest, maxEndpoints)
    const touched =
      isStale(slice) ||
      !isDeepEqual(
        kept.map(({ body }) => body),
        slice.endpoints,
      )
    return { slice, ports, endpoints: kept, touched }
  })
  const newcomers = fillTouched(slots, [...rest.values()], maxEndpoints)
  const made = placeRest(slots, newcomers, maxEndpoints)
  const filled = [...slots, ...made.map((some) => ({ slice: undefined, ports, endpoints: some }))]
  const nonEmpty = filled.filter((slot) => slot.endpoints.length > 0)
  if (nonEmpty.length > 0) return nonEmpty
  return [filled[0] ?? { slice: undefined, ports, endpoints: [] }]
}

/** The endpoints that stay in a slice; removes them from `rest`, so that no endpoint is in two slices. */
function keep(
  slice: SliceObject,
  rest: Map<string, WantedEndpoint>,
  maxEndpoints: number,
): readonly WantedEndpoint[] {
  const kept: WantedEndpoint[] = []
  for (const id of slice.endpoints.map(endpointId)) {
    const wanted = kept.length < maxEndpoints ? rest.get(id) : undefined
    if (wanted !== undefined) kept.push(wanted)
    if (wanted !== undefined) rest.delete(id)
  }
  return kept
}

/** Fills the slices that are written anyway, the fullest first; returns the endpoints that did not fit. */
function fillTouched(
  slots: readonly Slot[],
  newcomers: readonly WantedEndpoint[],
  maxEndpoints: number,
): readonly WantedEndpoint[] {
  let rest = newcomers
  const touched = slots.filter((slot) => slot.touched)
  for (const slot of touched.toSorted((a, b) => b.endpoints.length - a.endpoints.length)) {
    const free = maxEndpoints - slot.endpoints.length
    slot.endpoints = [...slot.endpoints, ...rest.slice(0, free)]
    rest = rest.slice(free)
  }
  return rest
}

/**
 * Puts endpoints into new slices that are all full. The remainder goes into the fullest slice that has space,
 * or else into one more new slice.
 */
function placeRest(
  slots: readonly Slot[],
  rest: readonly WantedEndpoint[],
  maxEndpoints: number,
): readonly (readonly WantedEndpoint[])[] {
  const full = rest.length - (rest.length % maxEndpoints)
  const made = Array.from({ length: full / maxEndpoints }, (_, i) =>
    rest.slice(i * maxEndpoints, (i + 1) * maxEndpoints),
  )
  const last = rest.slice(full)
  if (last.length === 0) return made
  const [fullest] = slots
    .filter(({ touched, endpoints }) => !touched && endpoints.length + last.length <= maxEndpoints)
    .toSorted((a, b) => b.endpoints.length - a.endpoints.length)
  if (fullest === undefined) return [...made, last]
  fullest.endpoints = [...fullest.endpoints, ...last]
  return made
}

function byName(a: SliceObject, b: SliceObject): number {
  return a.meta.name < b.meta.name ? -1 : 1
}
