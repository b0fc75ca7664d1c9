import { cidrContains, familyOf, type IpAddress } from '../../../lib/ip.ts'
import { isSpecialAddress } from '../../../lib/special-address.ts'
import type { Situation } from './mode-kind.ts'

/** Of this node's addresses those that serve node ports; loopback and link-local ones never do. */
export function nodeAddresses({
  config,
  node,
  facts,
  localAddresses,
}: Situation): readonly IpAddress[] {
  const { nodePortAddresses } = config
  const serves = (ip: IpAddress) => {
    if (nodePortAddresses === 'primary') return node?.addresses.includes(ip) ?? false
    if (nodePortAddresses.length === 0) return true
    return nodePortAddresses.some(
      (cidr) => familyOf(cidr) === familyOf(ip) && cidrContains(cidr, ip),
    )
  }
  const candidates = localAddresses.filter((ip) => facts.families.includes(familyOf(ip)))
  return candidates.filter((ip) => !isSpecialAddress(ip) && serves(ip))
}
