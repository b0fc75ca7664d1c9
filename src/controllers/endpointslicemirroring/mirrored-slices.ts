import type { Family } from '../../lib/ip.ts'
import { familyOf } from '../../lib/ip.ts'
import type { JsonObject } from '../../lib/json.ts'
import { arrayAt, isJsonObject, objectAt, stringAt, without } from '../../lib/json.ts'
import { parseLegacyIp } from '../../lib/legacy-address.ts'
import { portsKey, sortPorts } from '../backends/endpoint-ports.ts'
import type { EndpointsObject } from '../objects/endpoints-object.ts'
import type { WantedEndpoint, WantedGroup } from '../slices/slice-packing.ts'
import { endpointId } from '../slices/slice-packing.ts'
import { ADDRESS_TYPES, type AddressType, type WantedSlices } from '../slices/slice-writes.ts'

/**
 * The number of addresses of one subset that are mirrored, the ready ones first; the default of
 * `--mirroring-max-endpoints-per-subset` of kube-controller-manager.
 */
export const MAX_PER_SUBSET = 1000

const FAMILIES = [4, 6] as const

/**
 * The endpoints that the slices of hand-written Endpoints hold, grouped by address type and ports. Each
 * address of a group is one endpoint, ready if it is ready in any subset with the same ports. Texts that
 * are no IP address are left out; leading zeros are read as decimal.
 */
export function mirroredSlices({ subsets }: EndpointsObject): WantedSlices {
  const groupsByType = FAMILIES.map((family): readonly [AddressType, readonly WantedGroup[]] => {
    const byPorts = Map.groupBy(subsets, (subset) => portsKey(portsOf(subset)))
    const groups = [...byPorts.values()].map((samePorts) => groupOf(samePorts, family))
    return [ADDRESS_TYPES[family], groups.filter(({ endpoints }) => endpoints.length > 0)]
  })
  return new Map(groupsByType.filter(([, groups]) => groups.length > 0))
}

/** Whether a subset has more addresses than are mirrored. */
export function isTruncated({ subsets }: EndpointsObject): boolean {
  return subsets.some((subset) => addressesOf(subset).length > MAX_PER_SUBSET)
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
  const addresses = addressesOf(subset).slice(0, MAX_PER_SUBSET)
  return addresses.flatMap(({ address, ready }) => {
    const ip = parseLegacyIp(stringAt(address, 'ip'))
    if (ip === undefined || familyOf(ip) !== family) return []
    const body = {
      addresses: [ip],
      conditions: { ready },
      ...copiedField(address, 'hostname'),
      ...copiedField(address, 'nodeName'),
      ...copiedTargetRef(address),
    }
    return [{ id: endpointId(body), body, changedAt: '' }]
  })
}

interface SubsetAddress {
  readonly address: JsonObject
  readonly ready: boolean
}

function addressesOf(subset: JsonObject): readonly SubsetAddress[] {
  return ['addresses', 'notReadyAddresses'].flatMap((list) =>
    arrayAt(subset, list)
      .filter(isJsonObject)
      .map((address) => ({ address, ready: list === 'addresses' })),
  )
}

function copiedField(address: JsonObject, field: string): JsonObject {
  const value = stringAt(address, field)
  return value === '' ? {} : { [field]: value }
}

function copiedTargetRef(address: JsonObject): JsonObject {
  const target = without(objectAt(address, 'targetRef'), 'resourceVersion')
  return Object.keys(target).length === 0 ? {} : { targetRef: target }
}

/** The ports of a subset as a slice holds them: sorted, each with a name, which may be empty. */
function portsOf(subset: JsonObject): JsonObject[] {
  const ports = arrayAt(subset, 'ports').filter(isJsonObject)
  return sortPorts(ports.map((port) => ({ name: '', protocol: 'TCP', ...port })))
}

function isReady({ body }: WantedEndpoint): boolean {
  return objectAt(body, 'conditions')['ready'] === true
}
