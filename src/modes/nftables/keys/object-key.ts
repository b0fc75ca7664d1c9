import type { Protocol } from '../../../forwarding/entry.ts'
import { readAddress, readProtocol } from '../../../kernel/nftables/rules/encode.ts'
import { type Family, hostPort, type IpAddress } from '../../../lib/ip.ts'
import type { ObjectKey } from '../../mode.ts'
import { isFilledByPackets, SET } from './names.ts'

/**
 * `table`: the table of a family. `set`: a set or map with its description and the elements that belong to no
 * frontend. `chain`: a chain with its rules. `frontend`: all elements of one frontend, in all maps. `address`: the one
 * element that frontends of the same ClusterIP share.
 */
export type ObjectKind = 'table' | 'set' | 'chain' | 'frontend' | 'address'

export interface ObjectName {
  readonly family: Family
  readonly kind: ObjectKind
  /** The name of a frontend is `10.96.0.1:80/TCP`, `[fd00::1]:80/TCP` or `node:30080/TCP`. */
  readonly name: string
}

/** `4/frontend/10.96.0.1:80/TCP`, `6/chain/choose-3`, `4/set/services`, `4/table/node-proxy`. */
export function keyOf(family: Family, kind: ObjectKind, name: string): ObjectKey {
  return `${family}/${kind}/${name}` as ObjectKey
}

const KEY = /^([46])\/(table|set|chain|frontend|address)\/(.+)$/s

/** The inverse of `keyOf`; throws a TypeError for any other text. */
export function objectOf(key: ObjectKey): ObjectName {
  const [, family, kind, name] = KEY.exec(key) ?? []
  if (name === undefined) {
    throw new TypeError(`not a key of an object of the nftables mode: ${JSON.stringify(key)}`)
  }
  return { family: family === '4' ? 4 : 6, kind: kind as ObjectKind, name }
}

export function frontendKey(
  family: Family,
  { ip, port, protocol }: { ip: IpAddress | 'node'; port: number; protocol: Protocol },
): ObjectKey {
  const at = ip === 'node' ? `node:${port}` : hostPort(ip, port)
  return keyOf(family, 'frontend', `${at}/${protocol}`)
}

/** Maps whose keys begin with address . proto . port. */
const BY_ADDRESS: ReadonlySet<string> = new Set([
  SET.services,
  SET.insideServices,
  SET.endpoints,
  SET.insideEndpoints,
  SET.noEndpoints,
  SET.limitedServices,
  SET.sourceRanges,
  SET.remembered,
  SET.trafficIn,
  SET.trafficOut,
])

/** Maps whose keys begin with proto . port. */
const BY_PORT: ReadonlySet<string> = new Set([
  SET.nodePorts,
  SET.insideNodePorts,
  SET.nodePortEndpoints,
  SET.insideNodePortEndpoints,
  SET.noEndpointNodePorts,
  SET.rememberedNodePorts,
  SET.nodePortTrafficIn,
  SET.nodePortTrafficOut,
])

/** Whether an object consists of elements in sets that it shares with other objects. */
export function isPlaced({ kind }: ObjectName): boolean {
  return kind === 'frontend' || kind === 'address'
}

/** All sets and maps with elements of such objects. */
export const FRONTEND_SETS: readonly string[] = [...BY_ADDRESS, ...BY_PORT, SET.clusterAddresses]

/**
 * The number of bytes of an element's key that identify its object; 0 if all elements of the set belong to the same
 * one.
 */
export function ownerLength(family: Family, set: string): number {
  const address = family === 4 ? 4 : 16
  if (set === SET.clusterAddresses) return address
  if (BY_ADDRESS.has(set)) return address + 8
  return BY_PORT.has(set) ? 8 : 0
}

/**
 * The object to which an element belongs, by its map and key alone. Undefined for an element that a packet added: it
 * belongs to no object. A frontend of a protocol that no Service has is an object of its own, which is never wanted.
 */
export function keyOfElement(family: Family, set: string, key: Buffer): ObjectKey | undefined {
  if (isFilledByPackets(set)) return undefined
  if (set === SET.clusterAddresses) return keyOf(family, 'address', readAddress(key))
  const isByAddress = BY_ADDRESS.has(set)
  if (!isByAddress && !BY_PORT.has(set)) return keyOf(family, 'set', set)
  return frontendOfElement(family, key, isByAddress)
}

/** The frontend in the beginning of a key: address . proto . port, or proto . port for a node port. */
export function frontendOfElement(family: Family, key: Buffer, isByAddress: boolean): ObjectKey {
  const at = isByAddress ? (family === 4 ? 4 : 16) : 0
  const port = key.readUInt16BE(at + 4)
  const protocol = readProtocol(key.subarray(at)) ?? `protocol ${key[at] ?? 0}`
  const place = isByAddress ? hostPort(readAddress(key.subarray(0, at)), port) : `node:${port}`
  return keyOf(family, 'frontend', `${place}/${protocol}`)
}
