import { type Family, familyOf } from '../lib/ip.ts'
import { type Note, readAddress } from './address.ts'
import { HOSTNAME } from './label-names.ts'
import { isLabel } from './names.ts'
import { readNodeName } from './node-name.ts'
import { isRaw, present, type Reader } from './reader.ts'
import type { Endpoint } from './types.ts'
import type { WeightOf } from './weight.ts'

const LEFT_OUT = 'the endpoint is left out'
const CONDITIONS = ['ready', 'serving', 'terminating'] as const

/** The endpoints of an EndpointSlice; one that is wrong is left out. */
export function readSliceEndpoints(
  slice: Reader,
  family: Family,
  weightOf: WeightOf,
): readonly Endpoint[] {
  return present(slice.objects('endpoints').map((one) => readEndpoint(one, family, weightOf)))
}

/** All addresses of an endpoint belong to the same Pod, so only the first one is used. */
function readEndpoint(raw: Reader, family: Family, weightOf: WeightOf): Endpoint | undefined {
  const note: Note = (wrong, instead) => raw.refuseItem('addresses', 0, wrong, instead)
  const ip = readAddress(raw.list('addresses')[0], 'host', note, LEFT_OUT)
  if (ip === undefined) return undefined
  if (familyOf(ip) !== family) {
    note(`must be an IPv${family} address`, LEFT_OUT)
    return undefined
  }
  const conditions = readConditions(raw)
  if (conditions === undefined) return undefined
  const hints = raw.object('hints')
  const ready = conditions.value('ready') !== false
  return {
    ip,
    ...readHostname(raw),
    nodeName: readNodeName(raw, 'nodeName') || readNodeName(raw.object('topology'), HOSTNAME),
    ready,
    serving: (conditions.value('serving') ?? ready) === true,
    terminating: conditions.value('terminating') === true,
    zoneHints: readHints(hints, 'forZones'),
    nodeHints: readHints(hints, 'forNodes'),
    weight: weightOf(ip),
  }
}

/**
 * The conditions. If `ready` is absent, the endpoint is ready; if `serving` is absent, it has the value of `ready`.
 * Undefined, with a finding, if one is neither true nor false: no traffic goes to an endpoint whose condition is
 * unknown.
 */
function readConditions(raw: Reader): Reader | undefined {
  const value = raw.value('conditions')
  const conditions = raw.object('conditions')
  const wrong = CONDITIONS.find((key) => !isFlag(conditions.value(key)))
  if (wrong !== undefined) conditions.refuse(wrong, 'must be true or false', LEFT_OUT)
  return wrong !== undefined || (value !== undefined && !isRaw(value)) ? undefined : conditions
}

function isFlag(value: unknown): boolean {
  return value === undefined || typeof value === 'boolean'
}

function readHints(hints: Reader, key: 'forZones' | 'forNodes'): readonly string[] | undefined {
  if (hints.value(key) === undefined) return undefined
  const names = hints.objects(key).map((hint) => readNodeName(hint, 'name') || undefined)
  const usable = present(names)
  return usable.length === 0 ? undefined : usable
}

/** The `hostname` as a field to spread into an endpoint; empty if it is absent or not a label. */
export function readHostname(endpoint: Reader): { readonly hostname?: string } {
  const hostname = endpoint.value('hostname')
  return typeof hostname === 'string' && isLabel(hostname) ? { hostname } : {}
}
