import {
  arrayAt,
  isJsonObject,
  type JsonObject,
  objectAt,
  scalarText,
  stringAt,
  valueAt,
} from '../../../lib/json.ts'
import type { Operation, Store } from '../../../storage/store.ts'
import {
  ALLOCATIONS,
  addressKey,
  allocationOwner,
  nodePortKey,
} from '../../allocation/allocation-keys.ts'
import type { StatusCause } from '../../status/status.ts'

/** A completed spec, or the fault of the values that it names. */
export type Filled = { readonly spec: JsonObject } | { readonly cause: StatusCause }

/** Every allocation key that a stored Service holds. */
export function keysHeldBy(service: JsonObject): ReadonlySet<string> {
  const spec = objectAt(service, 'spec')
  const texts = arrayAt(spec, 'clusterIPs').map(scalarText)
  const ips = texts.filter((ip) => ip !== '' && ip !== 'None')
  const ports = arrayAt(spec, 'ports').filter(isJsonObject)
  const nodePorts = ports.flatMap((port) => {
    const number = numberAt(port, 'nodePort')
    return number === 0 ? [] : [nodePortKey(protocolOf(port), number)]
  })
  const health = numberAt(spec, 'healthCheckNodePort')
  return new Set([
    ...ips.map(addressKey),
    ...nodePorts,
    ...(health === 0 ? [] : [nodePortKey('TCP', health)]),
  ])
}

export function numberAt(object: JsonObject, field: string): number {
  const value = valueAt(object, field)
  return typeof value === 'number' ? value : 0
}

export function protocolOf(port: JsonObject): string {
  return stringAt(port, 'protocol') || 'TCP'
}

/** The keys of the allocations whose owner is the Service with the storage key `owner`. */
export async function allocationsOf(
  store: Pick<Store, 'list'>,
  owner: string,
): Promise<readonly string[]> {
  const page = await store.list({ prefix: `/${ALLOCATIONS}/` })
  if (page.refused !== undefined) return []
  return page.entries.filter((entry) => allocationOwner(entry) === owner).map(({ key }) => key)
}

/**
 * The operations that release the addresses and ports of the Service with the storage key `owner`; its deletion
 * adds them to its transaction. After damage two Services may have the same address or port; then only the one
 * that the allocation names releases it.
 */
export async function releaseOperations(
  store: Pick<Store, 'get'>,
  owner: string,
  service: JsonObject,
): Promise<readonly Operation[]> {
  const entries = await Promise.all([...keysHeldBy(service)].map((key) => store.get(key)))
  return entries.flatMap((entry) => {
    if (entry === undefined) return []
    const isTheirs = ['', owner].includes(allocationOwner(entry))
    return isTheirs ? [{ op: 'delete', key: entry.key } as const] : []
  })
}
