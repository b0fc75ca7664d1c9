import { NodeProxyError } from '../../lib/error.ts'
import { type Family, type IpAddress, parseCidr, parseIp } from '../../lib/ip.ts'
import { type IpRange, networkRange, rangeBetween } from '../../lib/ip-range.ts'
import type { JsonObject } from '../../lib/json.ts'
import type { ObjectMeta, StringMap } from '../objects/object-meta.ts'
import { meets, readSelector } from '../objects/requirements.ts'

/** A pool as an operator writes it. Everything in it has been checked. */
export interface AddressPoolSpec {
  /** Empty: no Service can choose the pool by its name. */
  readonly name: string
  /** Networks and ranges, of either family; see `parseAddressRange`. */
  readonly addresses: readonly string[]
  /** Together with `namespaceSelector`; without either, Services of all namespaces may use the pool. */
  readonly namespaces: readonly string[]
  /** A LabelSelector; a namespace that it selects counts like one of `namespaces`. */
  readonly namespaceSelector?: JsonObject
  /** A LabelSelector; absent: the labels of a Service do not matter. */
  readonly serviceSelector?: JsonObject
  /** Whether Services get addresses of the pool without a request. */
  readonly autoAssign: boolean
}

/** Addresses that may be assigned to Services. */
export interface AddressPool {
  readonly name: string
  readonly autoAssign: boolean
  /** Whether the labels of a namespace decide if its Services may use the pool. */
  readonly hasNamespaceSelector: boolean
  hasFamily(family: Family): boolean
  contains(ip: IpAddress): boolean
  /** All addresses of a family, range after range, each in ascending order, produced one by one. */
  addresses(family: Family): Iterable<IpAddress>
  /** Whether a Service may have addresses of the pool. */
  permits(service: ObjectMeta, namespaceLabels: StringMap): boolean
}

/** The pool of a spec. @throws NP_CONTROLLERS_POOL if one of the `addresses` is neither a network nor a range */
export function createAddressPool(spec: AddressPoolSpec): AddressPool {
  const ranges = spec.addresses.map(parseAddressRange)
  const ofNamespaces = readSelector(spec.namespaceSelector)
  const ofServices = readSelector(spec.serviceSelector ?? {})
  const isForAll = spec.namespaces.length === 0 && ofNamespaces === undefined
  return {
    name: spec.name,
    autoAssign: spec.autoAssign,
    hasNamespaceSelector: ofNamespaces !== undefined,
    hasFamily: (family) => ranges.some((range) => range.family === family),
    contains: (ip) => ranges.some((range) => range.indexOf(ip) !== undefined),
    *addresses(family) {
      for (const range of ranges) {
        if (range.family !== family) continue
        for (let index = 0n; index < range.size; index++) yield range.at(index)
      }
    },
    permits: ({ namespace, labels }, namespaceLabels) =>
      (isForAll || spec.namespaces.includes(namespace) || meets(namespaceLabels, ofNamespaces)) &&
      meets(labels, ofServices),
  }
}

/**
 * Reads a network (`192.0.2.0/24`), a range (`192.0.2.10-192.0.2.20`) or an address, of either family. A range has all
 * its addresses. A network has them without the first (in IPv6 the anycast address of its routers: RFC 4291, 2.6.1)
 * and in IPv4 without the last (broadcast). Throws NP_CONTROLLERS_POOL.
 */
export function parseAddressRange(text: string): IpRange {
  const [from, to, ...rest] = text.split('-').map((part) => parseIp(part.trim()))
  const isRange = from !== undefined && to !== undefined && rest.length === 0
  const range = isRange ? rangeBetween(from, to) : hostsOf(text)
  if (range === undefined) throw badPool(text)
  return range
}

/** A network of one or two addresses has no reserved ones (RFC 3021, RFC 6164). */
function hostsOf(text: string): IpRange | undefined {
  const cidr = parseCidr(text)
  if (cidr === undefined) return undefined
  const network = networkRange(cidr)
  if (network.size < 4n) return network
  return network.without(1n, network.family === 4 ? 1n : 0n)
}

function badPool(text: string): NodeProxyError {
  return new NodeProxyError(
    'NP_CONTROLLERS_POOL',
    `${JSON.stringify(text)} is not a pool of addresses`,
    { hint: 'give a network like 192.0.2.0/24 or a range like 192.0.2.10-192.0.2.20' },
  )
}
