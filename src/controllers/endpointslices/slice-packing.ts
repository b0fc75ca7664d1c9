import { isDeepEqual } from '../../lib/equal.ts'
import type { JsonObject } from '../../lib/json.ts'
import { arrayAt, scalarText, stringAt } from '../../lib/json.ts'
import { portsKey } from '../backends/endpoint-ports.ts'
import type { SliceObject } from '../objects/slice-object.ts'

export interface WantedEndpoint {
  /** Equal to `endpointId` of the endpoint in a slice. */
  readonly id: string
  readonly body: JsonObject
  /** When it became what it is, RFC 3339; empty when unknown. */
  readonly since: string
}

/** Endpoints that may share slices, each id once. */
export interface WantedGroup {
  readonly ports: readonly JsonObject[]
  readonly endpoints: readonly WantedEndpoint[]
}

/** A slice as it is to be. */
export interface PackedSlice {
  /** What it is made of; undefined for a new one. */
  readonly slice: SliceObject | undefined
  readonly ports: readonly JsonObject[]
  readonly endpoints: readonly WantedEndpoint[]
}

export interface Packing {
  readonly slices: readonly PackedSlice[]
  readonly surplus: readonly SliceObject[]
}

export interface PackingRules {
  /** Endpoints of one slice at most. */
  readonly most: number
  /** Whether the slice will be written anyway, whatever its endpoints. */
  readonly isStale: (slice: SliceObject) => boolean
}

interface Slot extends PackedSlice {
  readonly touched: boolean
  endpoints: readonly WantedEndpoint[]
}

/**
 * Spreads endpoints of one address type over slices with few writes (KEP-752):
 * an endpoint stays in its slice; newcomers fill slices that are written anyway,
 * then the one other slice that holds the rest most snugly, else new ones.
 * Slices left empty become what new ones would be, and only then go.
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

/** Equal for what is the same endpoint over time: the same Pod at the same address. */
export function endpointId(endpoint: JsonObject): string {
  const [address] = arrayAt(endpoint, 'addresses')
  return `${scalarText(address)} ${stringAt(endpoint, 'targetRef', 'uid')}`
}

function packGroup(
  existing: readonly SliceObject[],
  { ports, endpoints }: WantedGroup,
  { most, isStale }: PackingRules,
): readonly PackedSlice[] {
  const rest = new Map(endpoints.map((one) => [one.id, one]))
  const slots = existing.map((slice): Slot => {
    const kept = keep(slice, rest, most)
    const touched =
      isStale(slice) ||
      !isDeepEqual(
        kept.map(({ body }) => body),
        slice.endpoints,
      )
    return { slice, ports, endpoints: kept, touched }
  })
  const newcomers = fillTouched(slots, [...rest.values()], most)
  const made = placeRest(slots, newcomers, most)
  const filled = [...slots, ...made.map((some) => ({ slice: undefined, ports, endpoints: some }))]
  const worthy = filled.filter((slot) => slot.endpoints.length > 0)
  if (worthy.length > 0) return worthy
  return [filled[0] ?? { slice: undefined, ports, endpoints: [] }]
}

/** What stays of a slice; takes it out of `rest`, so that nothing stands in two slices. */
function keep(
  slice: SliceObject,
  rest: Map<string, WantedEndpoint>,
  most: number,
): readonly WantedEndpoint[] {
  const kept: WantedEndpoint[] = []
  for (const id of slice.endpoints.map(endpointId)) {
    const wanted = kept.length < most ? rest.get(id) : undefined
    if (wanted !== undefined) kept.push(wanted)
    if (wanted !== undefined) rest.delete(id)
  }
  return kept
}

/** Fills the slices that are written anyway, the fullest first; returns the endpoints that did not fit. */
function fillTouched(
  slots: readonly Slot[],
  newcomers: readonly WantedEndpoint[],
  most: number,
): readonly WantedEndpoint[] {
  let rest = newcomers
  const touched = slots.filter((slot) => slot.touched)
  for (const slot of touched.toSorted((a, b) => b.endpoints.length - a.endpoints.length)) {
    const free = most - slot.endpoints.length
    slot.endpoints = [...slot.endpoints, ...rest.slice(0, free)]
    rest = rest.slice(free)
  }
  return rest
}

/** Full new slices; what remains goes where it just fits, else into one more. */
function placeRest(
  slots: readonly Slot[],
  rest: readonly WantedEndpoint[],
  most: number,
): readonly (readonly WantedEndpoint[])[] {
  const full = rest.length - (rest.length % most)
  const made = Array.from({ length: full / most }, (_, i) => rest.slice(i * most, (i + 1) * most))
  const last = rest.slice(full)
  if (last.length === 0) return made
  const [snug] = slots
    .filter(({ touched, endpoints }) => !touched && endpoints.length + last.length <= most)
    .toSorted((a, b) => b.endpoints.length - a.endpoints.length)
  if (snug === undefined) return [...made, last]
  snug.endpoints = [...snug.endpoints, ...last]
  return made
}

function byName(a: SliceObject, b: SliceObject): number {
  return a.meta.name < b.meta.name ? -1 : 1
}
