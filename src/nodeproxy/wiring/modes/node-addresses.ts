import { familyOf, type IpAddress } from '../../../lib/ip.ts'
import { isSpecialAddress } from '../../../lib/special-address.ts'
import { isInScope } from '../../../modes/netfilter/node-port-scope.ts'
import { nodePortScope } from '../node/node-port-scope.ts'
import type { Situation } from './mode-kind.ts'

/** Of this node's addresses those that serve node ports; loopback and link-local ones never do. */
export function nodeAddresses({
  config,
  node,
  facts,
  localAddresses,
}: Situation): readonly IpAddress[] {
  const scope = nodePortScope(config.nodePortAddresses, node)
  const candidates = localAddresses.filter((ip) => facts.families.includes(familyOf(ip)))
  return candidates.filter((ip) => !isSpecialAddress(ip) && isInScope(scope, ip))
}
