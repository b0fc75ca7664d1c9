import { constants } from 'node:os'
import type { Nftables } from '../../../kernel/nftables/nftables.ts'
import type { Rule } from '../../../kernel/nftables/objects.ts'
import type { Family } from '../../../lib/ip.ts'
import { CHAIN, GUARD_TABLE } from '../keys/names.ts'
import { IS_TRANSLATED } from '../statements/matches.ts'

const { EINVAL, EOPNOTSUPP } = constants.errno

/** Of a kernel that has no tables with an owner. */
const UNKNOWN: ReadonlySet<number> = new Set([EINVAL, EOPNOTSUPP])

/** Uses connection tracking, and has no effect. */
const TRACKING: Rule = {
  expressions: [...IS_TRANSLATED, { type: 'verdict', verdict: { kind: 'return' } }],
}

/**
 * The kernel translates packets of established connections as long as any chain of type nat is there, and tracks
 * connections as long as any rule uses that. A firewall that flushes all tables would end them until ours is written
 * again; this table belongs to the daemon's socket, so that flushes of other programs spare it (NFT_TABLE_F_OWNER,
 * Linux 5.12). It goes with the socket. A kernel that does not know it has no such table. False: it was refused for another reason, and should be
 * tried again.
 */
export async function keepTranslating(
  nftables: Nftables,
  families: readonly Family[],
): Promise<boolean> {
  let isDone = true
  for (const family of families) {
    const table = { family, name: GUARD_TABLE }
    if ((await nftables.read(table)) !== undefined) continue
    const hook = { type: 'nat', hook: 'postrouting', priority: 300 } as const
    const error = await nftables.commit([
      { do: 'addTable', table, spec: { isOwned: true } },
      { do: 'addChain', table, chain: CHAIN.postrouting, spec: { hook } },
      { do: 'addRule', table, chain: CHAIN.postrouting, rule: TRACKING },
    ])
    isDone &&= error === undefined || UNKNOWN.has(error.errno)
  }
  return isDone
}
