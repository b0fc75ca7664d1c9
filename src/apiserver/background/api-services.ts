import { type Family, familyOf, type IpAddress, parseIp } from '../../lib/ip.ts'
import { isSpecialAddress } from '../../lib/special-address.ts'
import { API_SERVICE_NAMES, API_SERVICE_NAMESPACE } from '../../resources/pod-environment.ts'
import type { AddressRange } from '../allocation/address-range.ts'
import { services } from '../kinds/service/resource.ts'
import { storageKey } from '../resource/resource.ts'

/**
 * One of the Services by which Pods reach the API: `kubernetes` or `orch` in `default`. Unrelated to the kind
 * APIService of the group apiregistration.k8s.io.
 */
export interface ApiService {
  readonly name: string
  /** Its ClusterIP. */
  readonly ip: IpAddress
  readonly family: Family
}

/** Whether a storage key is that of a Service of the API. */
export function isApiServiceKey(key: string): boolean {
  return API_SERVICE_NAMES.some((name) => key === storageKey(services, API_SERVICE_NAMESPACE, name))
}

/** The Services of the API with the first addresses of a range: fewer when the range has only one address. */
export function apiServicesOf(range: AddressRange): readonly ApiService[] {
  const { family, size } = range
  return API_SERVICE_NAMES.slice(0, size).map((name, index) => ({
    name,
    family,
    ip: range.at(index),
  }))
}

/** The address at which Pods reach one server of the cluster. */
export interface ReplicaAddress {
  readonly ip: IpAddress
  readonly port: number
}

/** Why Pods cannot reach a server at an address; undefined when they can. */
export function whyUnreachable(address: string, family: Family): string | undefined {
  const ip = parseIp(address)
  if (ip === undefined) return `${JSON.stringify(address)} is not an IP address`
  if (isSpecialAddress(ip)) return `${ip} can only be reached from this machine`
  if (familyOf(ip) !== family) return `${ip} is not of the IP family of the Services, IPv${family}`
  return undefined
}
