import type { Family } from '../../lib/ip.ts'
import type { ObjectKey } from '../mode.ts'
import type { FamilyRules } from '../netfilter/chains/base-rules.ts'
import { keyOf } from '../netfilter/chains/object.ts'
import { filterJumps, forward, martians, serviceRanges } from '../netfilter/filter-rules.ts'
import { TO_NODE } from '../netfilter/local-traffic.ts'
import { isRouted } from '../netfilter/mark.ts'
import { toNodePorts } from '../netfilter/node-ports.ts'
import { postrouting } from '../netfilter/postrouting.ts'
import type { NetfilterSettings } from '../netfilter/settings/settings.ts'
import { CHAIN } from './names.ts'

/** Rules that keep other hosts from 127.0.0.0/8; they have to be in the kernel before route_localnet is 1. */
export const MARTIANS: readonly ObjectKey[] = (
  [
    { kind: 'chain', chain: CHAIN.martians },
    { kind: 'jump', chain: 'INPUT', rule: `-j ${CHAIN.martians}` },
  ] as const
).map((object) => keyOf({ ...object, family: 4, table: 'filter' }))

/**
 * Chains that exist regardless of the number of Services; they lead to the dispatch trees. Packets that another mode
 * has marked as its own return at once, whichever mode's rules come first.
 */
export function baseRules(settings: NetfilterSettings, family: Family): FamilyRules {
  return {
    family,
    chains: {
      nat: {
        [CHAIN.services]: [
          `${isRouted(settings)}-j RETURN`,
          `-j ${CHAIN.vips}`,
          ...toNodePorts(settings, family, CHAIN.nodePorts),
        ],
        [CHAIN.postrouting]: postrouting(settings, family),
      },
      filter: {
        [CHAIN.filter]: [
          '-m conntrack --ctstate DNAT -j RETURN',
          `-j ${CHAIN.filterVips}`,
          ...toNodePorts(settings, family, CHAIN.filterNodePorts),
        ],
        [CHAIN.forward]: forward(settings),
        [CHAIN.ranges]: serviceRanges(settings, family, { filter: CHAIN.filter }),
        [CHAIN.martians]: martians(settings, family),
      },
    },
    jumps: [
      ['nat', 'PREROUTING', `-j ${CHAIN.services}`],
      ['nat', 'OUTPUT', `-j ${CHAIN.services}`],
      ['nat', 'POSTROUTING', `-j ${CHAIN.postrouting}`],
      ...filterJumps(settings, family, CHAIN, TO_NODE),
    ],
  }
}
