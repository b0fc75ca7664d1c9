import type { NftTableName } from '../../kernel/nftables/list-table-names.ts'
import { unreadable } from '../host/read-json.ts'
import type { CommandOutput, RunCommand } from '../host/run-command.ts'
import { type NftTable, parseRuleset } from './model/ruleset.ts'
import { isOfIptables } from './tables-of-iptables.ts'

/** What `nft` lists: the content of tables as JSON, and the texts of rules without the elements of sets. */
export interface NftListing {
  readonly json: string
  readonly text: string
}

/**
 * Reads the tables of nftables. Where the names of all tables are given, those of iptables are not listed: nft needs
 * minutes for a hundred thousand rules of them, which `iptables-save` lists in seconds. Throws NP_EXPLAIN_READ.
 */
export async function readNftables(
  run: RunCommand,
  tables?: readonly NftTableName[],
): Promise<readonly NftTable[]> {
  const listings = await listNftables(run, tables)
  return listings.flatMap(({ json, text }) => parseRuleset(json, text))
}

/** The listings from which tables are read. Throws NP_EXPLAIN_READ. */
export async function listNftables(
  run: RunCommand,
  tables?: readonly NftTableName[],
): Promise<readonly NftListing[]> {
  const single = tables === undefined ? undefined : await listEach(run, tables)
  if (single !== undefined) return single
  const all = await listOne(run, ['ruleset'])
  if (all === undefined) return []
  if ('status' in all) throw unreadable('nft list ruleset', all)
  return [all]
}

/** Undefined: a table has an unusual name, or is gone meanwhile. */
async function listEach(
  run: RunCommand,
  tables: readonly NftTableName[],
): Promise<readonly NftListing[] | undefined> {
  const others = tables.filter((table) => !isOfIptables(table))
  if (others.some(({ name }) => !/^[\w.-]+$/.test(name))) return undefined
  const listings: NftListing[] = []
  for (const { family, name } of others) {
    const listing = await listOne(run, ['table', family, name])
    if (listing === undefined) return []
    if ('status' in listing) return undefined
    listings.push(listing)
  }
  return listings
}

/** Undefined: there is no nft; a failed command: what it printed. Each takes seconds for a hundred thousand elements. */
async function listOne(
  run: RunCommand,
  what: readonly string[],
): Promise<NftListing | CommandOutput | undefined> {
  const [json, text] = await Promise.all([
    run('nft', ['-j', 'list', ...what]),
    run('nft', ['-a', '-t', 'list', ...what]),
  ])
  if (json.status === 127) return undefined
  if (json.status !== 0) return json
  return text.status === 0 ? { json: json.stdout, text: text.stdout } : text
}
