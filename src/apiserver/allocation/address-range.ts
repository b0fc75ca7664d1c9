import { NodeProxyError } from '../../lib/error.ts'
import { type Cidr, type Family, familyOf, type IpAddress, parseCidr } from '../../lib/ip.ts'
import { networkRange } from '../../lib/ip-range.ts'
import { specialNetworkIn } from '../../lib/special-address.ts'

/** The maximum number of addresses of a range that are allocated automatically. */
const MAX_DYNAMIC = 2 ** 20

/** A range of virtual addresses. Its network address is never allocated, nor is the broadcast address of an IPv4 range. */
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
  if (specialNetworkIn(cidr) !== undefined) throw badRange(text)
  const network = networkRange(cidr)
  const { family } = network
  const usable = network.without(1n, family === 4 ? 1n : 0n)
  if (usable.size < 1n) throw badRange(text)
  return {
    cidr,
    family,
    size: Math.min(Number(usable.size), MAX_DYNAMIC),
    at: (index) => usable.at(BigInt(index)),
    contains: (ip) => usable.indexOf(ip) !== undefined,
  }
}

function badRange(text: string): NodeProxyError {
  return new NodeProxyError(
    'NP_APISERVER_RANGE',
    `${JSON.stringify(text)} is not a Service address range`,
    {
      hint: 'give a CIDR with at least one usable address, outside of loopback, link-local and multicast networks, like 10.96.0.0/16',
    },
  )
}

/** The smallest size of a range for Services, as in Kubernetes. */
const MIN_ADDRESSES = 8n

/** The maximum number of host bits of a range, as in Kubernetes 1.33. */
const MAX_HOST_BITS = { 4: 20, 6: 64 } as const

/** Why a network cannot be a range for Services, with the remedy; undefined: it can. */
export function rangeProblem(cidr: Cidr): string | undefined {
  const special = specialNetworkIn(cidr)
  if (special !== undefined) {
    return `${cidr} overlaps ${special}, whose addresses no host of a network has; write a network that nothing else uses, such as 10.96.0.0/16 or fd00:10:96::/112`
  }
  const { size } = networkRange(cidr)
  const family = familyOf(cidr)
  const width = family === 4 ? 32 : 128
  const maxBits = MAX_HOST_BITS[family]
  if (size < MIN_ADDRESSES) {
    return `${cidr} is too small for Services; write a prefix of at most /${width - 3}, such as 10.96.0.0/16`
  }
  if (size <= 2n ** BigInt(maxBits)) return undefined
  return `${cidr} is too large: Services get at most 2^${maxBits} addresses; write a prefix of at least /${width - maxBits}`
}
