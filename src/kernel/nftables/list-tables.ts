import { attributeText, findAttribute } from '../netlink/attribute.ts'
import { NFGENMSG, NFT_MSG, NFTA, nfMessageType } from '../netlink/nfnetlink.ts'
import type { NetlinkSession, Visit } from '../netlink/session.ts'

/** linux/netfilter.h: NFPROTO_…, as nft names them. */
const FAMILIES: ReadonlyMap<number, string> = new Map([
  [1, 'inet'],
  [2, 'ip'],
  [3, 'arp'],
  [5, 'netdev'],
  [7, 'bridge'],
  [10, 'ip6'],
])

/** A table of nf_tables, with names as in nft. */
export interface TableSummary {
  readonly family: string
  readonly name: string
  /** The number of its rules and of the jumps to its chains; absent if not known. */
  readonly rules?: number
}

/**
 * The tables of this network namespace, empty if the kernel has no nf_tables. The cost does not depend on the number
 * of rules.
 */
export async function listTables(
  session: Pick<NetlinkSession, 'dump'>,
): Promise<readonly TableSummary[]> {
  const tables = new Map<string, TableSummary>()
  await dump(session, NFT_MSG.getTable, () => {
    tables.clear()
    return ({ payload }) => {
      const table = tableOf(payload)
      if (table !== undefined) tables.set(keyOf(table), table)
    }
  })
  return [...tables.values()]
}

/** The same tables with the number of their rules. The cost depends on the number of chains, not of rules. */
export async function countRules(
  session: Pick<NetlinkSession, 'dump'>,
  tables: readonly TableSummary[],
): Promise<readonly TableSummary[]> {
  const rules = new Map<string, number>()
  await dump(session, NFT_MSG.getChain, () => {
    rules.clear()
    return ({ payload }) => {
      const table = tableOf(payload)
      if (table === undefined) return
      const use = findAttribute(payload, NFTA.chainUse, NFGENMSG)?.readUInt32BE(0) ?? 0
      rules.set(keyOf(table), (rules.get(keyOf(table)) ?? 0) + use)
    }
  })
  return tables.map((table) => ({ ...table, rules: rules.get(keyOf(table)) ?? 0 }))
}

async function dump(
  session: Pick<NetlinkSession, 'dump'>,
  message: number,
  begin: () => Visit,
): Promise<void> {
  const type = nfMessageType('nftables', message)
  await session.dump({ type, flags: 0, payload: Buffer.alloc(NFGENMSG) }, begin)
}

function tableOf(payload: Buffer): { readonly family: string; readonly name: string } | undefined {
  const family = FAMILIES.get(payload[0] ?? 0)
  const name = findAttribute(payload, NFTA.table, NFGENMSG)
  return family === undefined || name === undefined
    ? undefined
    : { family, name: attributeText(name) }
}

function keyOf({ family, name }: { readonly family: string; readonly name: string }): string {
  return `${family} ${name}`
}
