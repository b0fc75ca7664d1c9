import type { Nftables } from '../../../kernel/nftables/nftables.ts'
import type { Family } from '../../../lib/ip.ts'
import type { MissingRequirement } from '../../mode.ts'

/**
 * Whether the chain FORWARD of `iptables-nft` drops what no rule accepts, as Docker sets it up. No rule of ours can
 * accept a packet for another table.
 */
export async function forwardCaveats(
  nftables: Nftables,
  families: readonly Family[],
): Promise<readonly MissingRequirement[]> {
  const caveats: MissingRequirement[] = []
  for (const family of families) {
    const filter = await nftables.read({ family, name: 'filter' })
    if (filter?.chains.get('FORWARD')?.spec.hook?.dropsByDefault !== true) continue
    const program = family === 4 ? 'iptables' : 'ip6tables'
    caveats.push({
      code: 'NP_NFTABLES_FORWARD',
      what: `the policy of chain FORWARD of ${program} is DROP, which drops packets to endpoints in nftables mode`,
      remedy: `${program} -I FORWARD -m conntrack --ctstate DNAT -j ACCEPT, or mode: iptables`,
    })
  }
  return caveats
}
