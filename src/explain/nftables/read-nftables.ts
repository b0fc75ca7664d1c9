import type { NftTableName } from '../../kernel/nftables/list-table-names.ts'
import { unreadable } from '../host/read-json.ts'
import type { CommandOutput, RunCommand } from '../host/run-command.ts'
import { type NftTable, parseRuleset } from './model/ruleset.ts'
import { isOfIptables } from './tables-of-iptables.ts'

/** What `nft` lists. */
export interface NftListing {
  /** The content of tables, with the elements of sets. */
  readonly json: readonly string[]
  /** The rules of all those tables as text, without the elements of sets. */
  readonly text: string
}

const NONE: NftListing = { json: [], text: '' }

/**
 * Reads the tables of nftables. Where the names of all tables are given, those of iptables are not listed: nft needs
 * minutes for a hundred thousand rules of them, which `iptables-save` lists in seconds. Throws NP_EXPLAIN_READ.
 */
export async function readNftables(
  run: RunCommand,
  tables?: readonly NftTableName[],
): Promise<readonly NftTable[]> {
  const { json, text } = await listNftables(run, tables)
  return json.flatMap((one) => parseRuleset(one, text))
}

/** The listing from which tables are read. Throws NP_EXPLAIN_READ. */
export async function listNftables(
  run: RunCommand,
  tables?: readonly NftTableName[],
): Promise<NftListing> {
  const single = tables === undefined ? undefined : await listEach(run, tables)
  if (single !== undefined) return single
  const all = await listAll(run, [RULESET], [RULESET])
  if ('failed' in all) throw unreadable('nft list ruleset', all.failed)
  return all
}

const RULESET = ['ruleset']

/** Undefined: a table has an unusual name, or is gone meanwhile. */
async function listEach(
  run: RunCommand,
  tables: readonly NftTableName[],
): Promise<NftListing | undefined> {
  const others = tables.filter((table) => !isOfIptables(table))
  if (others.length === 0) return NONE
  if (others.some(({ name }) => !/^[\w.-]+$/.test(name))) return undefined
  const each = others.map(({ family, name }) => ['table', family, name])
  // Of one table, nft reads the elements that it does not print; of the ruleset it does not.
  const listing = await listAll(run, each, others.length === tables.length ? [RULESET] : each)
  return 'failed' in listing ? undefined : listing
}

type What = readonly (readonly string[])[]

/** A command that failed, with what it printed. Without nft there are no tables. */
async function listAll(
  run: RunCommand,
  json: What,
  text: What,
): Promise<NftListing | { readonly failed: CommandOutput }> {
  const outputs = await Promise.all([
    Promise.all(json.map((what) => run('nft', ['-j', 'list', ...what]))),
    Promise.all(text.map((what) => run('nft', ['-a', '-t', 'list', ...what]))),
  ])
  if (outputs.flat().some(({ status }) => status === 127)) return NONE
  const failed = outputs.flat().find(({ status }) => status !== 0)
  if (failed !== undefined) return { failed }
  const [listed = [], texts = []] = outputs.map((each) => each.map(({ stdout }) => stdout))
  return { json: listed, text: texts.join('') }
}
