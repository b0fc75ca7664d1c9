import { constants } from 'node:os'
import type { Nftables } from '../../../kernel/nftables/nftables.ts'
import type { Command } from '../../../kernel/nftables/objects.ts'
import type { Family } from '../../../lib/ip.ts'
import { GUARD_TABLE } from '../names.ts'

const { EINVAL, EOPNOTSUPP } = constants.errno

/** Of a kernel that has no tables with an owner. */
const UNKNOWN: ReadonlySet<number> = new Set([EINVAL, EOPNOTSUPP])

/**
 * The kernel translates packets of established connections as long as any chain of type nat is there. A firewall that
 * flushes all tables would end them until ours is written again; this table belongs to the daemon's socket, so that
 * flushes of other programs spare it (NFT_TABLE_F_OWNER, Linux 5.12). Its chain has no rules, and it goes with the
 * socket. A kernel that does not know it has no such table. False: it was refused for another reason, and should be
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
    const chain: Command = {
      ...{ do: 'addChain', table, chain: 'postrouting' },
      spec: { hook: { type: 'nat', hook: 'postrouting', priority: 300 } },
    }
    const error = await nftables.commit([{ do: 'addTable', table, spec: { isOwned: true } }, chain])
    isDone &&= error === undefined || UNKNOWN.has(error.errno)
  }
  return isDone
}
