import { NodeProxyError } from '../../lib/error.ts'
import {
  type Cidr,
  cidrContains,
  type Family,
  familyOf,
  formatIp,
  type IpAddress,
  ipBytes,
  parseCidr,
} from '../../lib/ip.ts'

/** How many addresses of a range are handed out by themselves, at most. */
const MAX_DYNAMIC = 2 ** 20

/** A range of virtual addresses: its network (and IPv4 broadcast) address is never given. */
export interface AddressRange {
  readonly cidr: Cidr
  readonly family: Family
  /** Addresses that `at` can name. */
  readonly size: number
  at(index: number): IpAddress
  contains(ip: IpAddress): boolean
}

export function createAddressRange(text: string): AddressRange {
  const cidr = parseCidr(text)
  if (cidr === undefined || !text.includes('/')) throw badRange(text)
  const [network = '', prefix] = cidr.split('/')
  const first = ipBytes(network as IpAddress)
  const hostBits = first.length * 8 - Number(prefix)
  const family = familyOf(cidr)
  const total = 2 ** Math.min(hostBits, 30)
  const usable = total - (family === 4 ? 2 : 1)
  if (usable < 1) throw badRange(text)
  const last = family === 4 ? formatIp(plus(first, total - 1)) : undefined
  return {
    cidr,
    family,
    size: Math.min(usable, MAX_DYNAMIC),
    at: (index) => formatIp(plus(first, index + 1)),
    contains: (ip) => cidrContains(cidr, ip) && ip !== network && ip !== last,
  }
}

function plus(bytes: Uint8Array, amount: number): Uint8Array {
  const sum = Uint8Array.from(bytes)
  let carry = amount
  for (let index = sum.length - 1; index >= 0 && carry > 0; index--) {
    carry += sum[index]!
    sum[index] = carry & 0xff
    carry = Math.floor(carry / 256)
  }
  return sum
}

function badRange(text: string): NodeProxyError {
  return new NodeProxyError(
    'NP_APISERVER_RANGE',
    `${JSON.stringify(text)} is not a Service address range`,
    {
      hint: 'give a CIDR with at least one usable address, like 10.96.0.0/16',
    },
  )
}
