import type { Family } from '../../lib/ip.ts'
import { familyOf } from '../../lib/ip.ts'
import type { JsonObject } from '../../lib/json.ts'
import { arrayAt, isJsonObject, objectAt, stringAt, without } from '../../lib/json.ts'
import { parseLegacyIp } from '../../lib/legacy-address.ts'
import { inOrder, portsKey } from '../backends/endpoint-ports.ts'
import type { WantedEndpoint, WantedGroup } from '../endpointslices/slice-packing.ts'
import { endpointId } from '../endpointslices/slice-packing.ts'
import {
  ADDRESS_TYPES,
  type AddressType,
  type WantedSlices,
} from '../endpointslices/slice-writes.ts'
import type { EndpointsObject } from '../objects/endpoints-object.ts'

/** Addresses of one subset that are mirrored; the ready ones come first. */
export const MAX_PER_SUBSET = 1000

const FAMILIES = [4, 6] as const

/**
 * Hand-written Endpoints as slices: by family and set of ports, each
 * address once. One that is ready in any subset with the same ports is ready.
 */
export function mirroredSlices({ subsets }: EndpointsObject): WantedSlices {
  const types = FAMILIES.map((family): readonly [AddressType, readonly WantedGroup[]] => {
    const byPorts = Map.groupBy(subsets, (subset) => portsKey(portsOf(subset)))
    const groups = [...byPorts.values()].map((same) => groupOf(same, family))
    return [ADDRESS_TYPES[family], groups.filter(({ endpoints }) => endpoints.length > 0)]
  })
  return new Map(types.filter(([, groups]) => groups.length > 0))
}

/** Whether a subset has more addresses than are mirrored. */
export function isTruncated({ subsets }: EndpointsObject): boolean {
  return subsets.some((subset) => {
    const lists = ['addresses', 'notReadyAddresses'].map((list) => arrayAt(subset, list).length)
    return lists.reduce((sum, length) => sum + length, 0) > MAX_PER_SUBSET
  })
}

function groupOf(subsets: readonly JsonObject[], family: Family): WantedGroup {
  const endpoints = new Map<string, WantedEndpoint>()
  for (const one of subsets.flatMap((subset) => endpointsOf(subset, family))) {
    const known = endpoints.get(one.id)
    if (known === undefined || !isReady(known)) endpoints.set(one.id, one)
  }
  return { ports: subsets.slice(0, 1).flatMap(portsOf), endpoints: [...endpoints.values()] }
}

function endpointsOf(subset: JsonObject, family: Family): readonly WantedEndpoint[] {
  const addresses = ['addresses', 'notReadyAddresses'].flatMap((list) =>
    arrayAt(subset, list)
      .filter(isJsonObject)
      .map((address) => ({ address, ready: list === 'addresses' })),
  )
  return addresses.slice(0, MAX_PER_SUBSET).flatMap(({ address, ready }) => {
    const ip = parseLegacyIp(stringAt(address, 'ip'))
    if (ip === undefined || familyOf(ip) !== family) return []
    const body = {
      addresses: [ip],
      conditions: { ready },
      ...copied(address, 'hostname'),
      ...copied(address, 'nodeName'),
      ...targetOf(address),
    }
    return [{ id: endpointId(body), body, since: '' }]
  })
}

function copied(address: JsonObject, field: string): JsonObject {
  const value = stringAt(address, field)
  return value === '' ? {} : { [field]: value }
}

function targetOf(address: JsonObject): JsonObject {
  const target = without(objectAt(address, 'targetRef'), 'resourceVersion')
  return Object.keys(target).length === 0 ? {} : { targetRef: target }
}

/** In canonical order; slices have a name for every port, be it empty. */
function portsOf(subset: JsonObject): JsonObject[] {
  const ports = arrayAt(subset, 'ports').filter(isJsonObject)
  return inOrder(ports.map((port) => ({ name: '', protocol: 'TCP', ...port })))
}

function isReady({ body }: WantedEndpoint): boolean {
  return objectAt(body, 'conditions')['ready'] === true
}
