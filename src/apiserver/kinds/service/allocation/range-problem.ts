import type { Cidr } from '../../../../lib/ip.ts'
import { familyOf } from '../../../../lib/ip.ts'
import { networkRange } from '../../../../lib/ip-range.ts'
import { specialNetworkIn } from '../../../../lib/special-address.ts'

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
