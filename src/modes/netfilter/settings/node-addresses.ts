import { familyOf, type IpAddress } from '../../../lib/ip.ts'
import { isSpecialAddress } from '../../../lib/special-address.ts'
import type { ModeInputs } from './mode-inputs.ts'
import { isInScope, nodePortScope } from './node-port-scope.ts'

/** The addresses of this node that serve node ports; loopback and link-local ones never do. */
export function nodeAddresses({
  config,
  node,
  facts,
  localAddresses,
}: ModeInputs): readonly IpAddress[] {
  const scope = nodePortScope(config.nodePortAddresses, node)
  const candidates = localAddresses.filter((ip) => facts.families.includes(familyOf(ip)))
  return candidates.filter((ip) => !isSpecialAddress(ip) && isInScope(scope, ip))
}
