import { attributeText, findAttribute } from '../netlink/attribute.ts'
import { NFT_MSG, NFTA } from '../netlink/nf-tables.ts'
import { NFGENMSG, nfMessageType } from '../netlink/nfnetlink.ts'
import type { NetlinkSession } from '../netlink/session.ts'

/** linux/netfilter.h: NFPROTO_…, as nft names them. */
const FAMILIES: ReadonlyMap<number, string> = new Map([
  [1, 'inet'],
  [2, 'ip'],
  [3, 'arp'],
  [5, 'netdev'],
  [7, 'bridge'],
  [10, 'ip6'],
])

/** A table of nf_tables, in the words of nft. */
export interface NftTableName {
  readonly family: string
  readonly name: string
}

/** The tables of this network namespace, none where the kernel has no nf_tables. Costs the same however many rules they have. */
export async function listTableNames(
  session: Pick<NetlinkSession, 'dump'>,
): Promise<readonly NftTableName[]> {
  const tables = new Map<string, NftTableName>()
  const request = {
    ...{ type: nfMessageType('nftables', NFT_MSG.getTable), flags: 0 },
    payload: Buffer.alloc(NFGENMSG),
  }
  await session.dump(request, ({ payload }) => {
    const family = FAMILIES.get(payload[0] ?? 0)
    const name = findAttribute(payload, NFTA.table, NFGENMSG)
    if (family === undefined || name === undefined) return
    const table = { family, name: attributeText(name) }
    tables.set(`${family} ${table.name}`, table)
  })
  return [...tables.values()]
}
