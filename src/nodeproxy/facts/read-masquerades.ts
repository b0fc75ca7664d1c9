import type { NodeFacts } from '../../doctor/evidence/node-facts.ts'
import { listNftables } from '../../explain/nftables/read-nftables.ts'
import type { NodeSource } from './node-source.ts'

/** Matches the names that modes give their chains. */
const OWN_CHAIN = /(^|\s)(NPROXY|NPVS|NPUS|NPGUARD)-/
const OWN_TABLE = /^nft \w+ node-proxy(-guard)?(\s|$)/

/** The programs whose rules are listed with `-save`. */
export const XTABLES = [
  'iptables-nft',
  'iptables-legacy',
  'ip6tables-nft',
  'ip6tables-legacy',
] as const

/** Tables of `nft` that an iptables program lists, too. */
export const OF_IPTABLES = /^nft ip6? (raw|mangle|nat|filter|security)$/

type Masquerade = NodeFacts['masquerades'][number]

/**
 * Rules that give connections of several clients one source address and do not choose their source ports at random: two
 * connections may get the same port at the same time, or no port is free. Rules that have counted no connection are
 * left out.
 */
export async function readMasquerades({
  run,
  nftTables,
}: Pick<NodeSource, 'run' | 'nftTables'>): Promise<readonly Masquerade[]> {
  const found: Masquerade[] = []
  for (const program of XTABLES) {
    const { status, stdout } = await run(`${program}-save`, ['-c'])
    if (status === 0) found.push(...ofXtables(program, stdout))
  }
  const { text } = await listNftables(run, await nftTables(), { isTerse: true })
  found.push(...ofNft(text))
  return found.filter(({ packets }) => packets !== 0).toSorted((a, b) => b.packets - a.packets)
}

function ofXtables(program: string, listing: string): readonly Masquerade[] {
  const rules = listing.matchAll(/^\[(\d+):\d+\] (-A (\S+) .*-j (?:MASQUERADE|SNAT)\b.*)$/gm)
  return [...rules]
    .filter(([, , rule = '']) => !/--random/.test(rule))
    .map(([, packets, rule = '', chain = '']) => ({
      where: `${program} nat ${chain}`,
      rule,
      packets: Number(packets),
    }))
}

/** Rules of tables that no iptables program lists. */
function ofNft(listing: string): readonly Masquerade[] {
  const found: Masquerade[] = []
  let table = ''
  let chain = ''
  for (const line of listing.split('\n')) {
    table = /^table (\S+ \S+) \{/.exec(line)?.[1] ?? table
    chain = /^\tchain (\S+) \{/.exec(line)?.[1] ?? chain
    const [, rule] = /^\t\t(.*\b(?:masquerade|snat)\b.*?)(?: # handle \d+)?$/.exec(line) ?? []
    const where = `nft ${table}`
    if (rule === undefined || OF_IPTABLES.test(where)) continue
    if (/\b(random|fully-random)\b/.test(rule)) continue
    const packets = Number(/\bcounter packets (\d+)/.exec(rule)?.[1] ?? -1)
    found.push({ where: `${where} ${chain}`, rule, packets })
  }
  return found
}

/** Whether node-proxy wrote a rule. `where`: the chain, as in the steps of a packet; `rule`: as iptables lists it. */
export function isOwnRule(where: string, rule: string): boolean {
  return OWN_TABLE.test(where) || OWN_CHAIN.test(where) || OWN_CHAIN.test(rule)
}
