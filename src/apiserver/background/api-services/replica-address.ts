import { type Family, familyOf, type IpAddress, parseIp } from '../../../lib/ip.ts'
import { isSpecialAddress } from '../../../lib/special-address.ts'

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
