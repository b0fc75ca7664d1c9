import { openNftables } from '../../../src/kernel/nftables/netlink-nftables.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { SET, tableOf } from '../../../src/modes/nftables/keys/names.ts'
import type { Cluster } from '../../cluster/cluster.ts'
import { inside } from '../../lab/namespace.ts'
import type { NftablesObjects } from '../../report/nftables/results.ts'

/** Counts the objects in the tables of a namespace; throws if endpoints of the cluster are missing. */
export async function countObjects(
  namespace: string,
  { size, endpointsEach }: Pick<Cluster, 'size' | 'endpointsEach'>,
): Promise<NftablesObjects> {
  const nftables = inside(namespace, () => openNftables(systemClock))
  let [chains, rules, sets, elements, endpoints] = [0, 0, 0, 0, 0]
  try {
    for (const family of [4, 6] as const) {
      const table = tableOf(family)
      const content = await nftables.read(table)
      if (content === undefined) continue
      chains += content.chains.size
      rules += content.chains.values().reduce((sum, chain) => sum + chain.rules.length, 0)
      sets += content.sets.size
      for (const set of content.sets.keys()) {
        await nftables.elements(table, set, () => {
          elements++
          if (set === SET.endpoints) endpoints++
        })
      }
    }
  } finally {
    nftables.close()
  }
  const wanted = size * endpointsEach
  if (endpoints < wanted) throw new Error(`the kernel has ${endpoints} endpoints, not ${wanted}`)
  return { chains, rules, sets, elements }
}
