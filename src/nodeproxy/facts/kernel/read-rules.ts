import type { NodeFacts } from '../../../doctor/evidence/node-facts.ts'
import { listNftables } from '../../../explain/nftables/read-nftables.ts'
import type { NodeSource } from './node-source.ts'
import { isOwnRule } from './own-rules.ts'
import { OF_IPTABLES, XTABLES } from './rule-listings.ts'

type RuleCount = NodeFacts['rules'][number]

/** How many rules each program lists, and how many of them are of node-proxy. A program that is not there lists none. */
export async function readRules({
  run,
  nftTables,
}: Pick<NodeSource, 'run' | 'nftTables'>): Promise<readonly RuleCount[]> {
  const counts: RuleCount[] = []
  for (const program of XTABLES) {
    const { status, stdout } = await run(`${program}-save`, ['-c'])
    if (status === 0) counts.push(countXtables(program, stdout))
  }
  const { text } = await listNftables(run, await nftTables(), { isTerse: true })
  counts.push(countNft(text))
  return counts.filter(({ own, others }) => own + others > 0)
}

function countXtables(program: string, listing: string): RuleCount {
  let own = 0
  let others = 0
  for (const [, rule = ''] of listing.matchAll(/^(?:\[[^\]]*\] )?-A (.*)$/gm)) {
    if (isOwnRule('', rule)) own++
    else others++
  }
  return { program, own, others }
}

/** Rules of tables that no iptables program lists. */
function countNft(listing: string): RuleCount {
  let own = 0
  let others = 0
  let table = ''
  for (const line of listing.split('\n')) {
    const head = /^table (\S+ \S+) \{/.exec(line)
    if (head !== null) table = `nft ${head[1]}`
    if (!/^\t\t.* # handle \d+$/.test(line) || OF_IPTABLES.test(table)) continue
    if (isOwnRule(table, '')) own++
    else others++
  }
  return { program: 'nft', own, others }
}
