import type { TableSummary } from '../../kernel/nftables/list-tables.ts'
import type { CommandOutput, RunCommand } from '../host/run-command.ts'
import { unreadable } from '../host/run-command.ts'
import { LiveElements } from './live-elements.ts'
import type { LookUpElement } from './look-up.ts'
import { type NftTable, parseRuleset } from './model/ruleset.ts'

/** The tables of iptables-nft, whose rules `iptables-save` lists. */
const NAMES = new Set(['raw', 'mangle', 'nat', 'filter', 'security'])

/** The output of `nft`. */
export interface NftListing {
  /** The content of tables; terse listings contain no elements of sets. */
  readonly json: readonly string[]
  /** The rules of all those tables as text, without the elements of sets. */
  readonly text: string
}

const NONE: NftListing = { json: [], text: '' }

/**
 * Reads the tables of nftables. If the names of all tables are given, those of iptables are not listed: nft needs
 * minutes for a hundred thousand of their rules, which `iptables-save` lists in seconds. Throws NP_EXPLAIN_READ.
 */
export async function readNftables(
  run: RunCommand,
  tables?: readonly TableSummary[],
  shared?: ReadonlySet<string>,
): Promise<readonly NftTable[]> {
  const { json, text } = await listNftables(run, tables, { shared })
  return json.flatMap((one) => parseRuleset(one, text))
}

/** Tables whose elements are read when a packet needs them. */
export interface LiveTables {
  readonly tables: readonly NftTable[]
  /** Reads the elements that walks needed; returns whether there were any. Throws NP_KERNEL_NETLINK. */
  readonly readMissing: () => Promise<boolean>
}

/** The same tables without the elements of their sets, which take seconds to print and to parse. Throws NP_EXPLAIN_READ. */
export async function readLiveNftables(
  run: RunCommand,
  lookUp: LookUpElement,
  names?: readonly TableSummary[],
  shared?: ReadonlySet<string>,
): Promise<LiveTables> {
  const { json, text } = await listNftables(run, names, { isTerse: true, shared })
  const elements = new LiveElements(run, lookUp)
  const tables = json.flatMap((one) =>
    parseRuleset(one, text, (set, kind) => elements.of(set, kind)),
  )
  return { tables, readMissing: () => elements.read() }
}

interface ListOptions {
  readonly isTerse?: boolean
  /** Tables of iptables with base chains of other programs, as `ip filter`: these are listed, too. */
  readonly shared?: ReadonlySet<string> | undefined
}

/** The listing from which tables are read. Throws NP_EXPLAIN_READ. */
export async function listNftables(
  run: RunCommand,
  tables?: readonly TableSummary[],
  { isTerse = false, shared = new Set() }: ListOptions = {},
): Promise<NftListing> {
  const isListed = (table: TableSummary) =>
    !isOfIptables(table) || shared.has(`${table.family} ${table.name}`)
  const single =
    tables && (await listEach(run, { tables, others: tables.filter(isListed) }, isTerse))
  if (single !== undefined) return single
  const all = await listAll(run, { json: [RULESET], text: [RULESET], isTerse })
  if ('failed' in all) throw unreadable('nft list ruleset', all.failed)
  return all
}

const RULESET = ['ruleset']

/** Undefined if a table has an unusual name or was deleted meanwhile. */
async function listEach(
  run: RunCommand,
  { tables, others }: Readonly<Record<'tables' | 'others', readonly TableSummary[]>>,
  isTerse: boolean,
): Promise<NftListing | undefined> {
  if (others.length === 0) return NONE
  if (others.some(({ name }) => !/^[\w.-]+$/.test(name))) return undefined
  const each = others.map(({ family, name }) => ['table', family, name])
  // When listing one table, nft also reads the elements that it does not print; when listing the ruleset, it does not.
  // But nft 1.0.6 ends the JSON of the ruleset at a table with flags, such as that of node-proxy.
  const isSmall = tables.every((table) => others.includes(table) || hasFewRules(table))
  const listing = await listAll(run, { json: each, text: isSmall ? [RULESET] : each, isTerse })
  return 'failed' in listing ? undefined : listing
}

/** The number of rules that nft lists in a tenth of a second. */
const FEW_RULES = 2_000

function hasFewRules({ rules }: TableSummary): boolean {
  return rules !== undefined && rules <= FEW_RULES
}

type What = readonly (readonly string[])[]

interface Listed {
  readonly json: What
  readonly text: What
  readonly isTerse: boolean
}

/** The output of a listing, or of the command that failed. Without nft there are no tables. */
async function listAll(
  run: RunCommand,
  { json, text, isTerse }: Listed,
): Promise<NftListing | { readonly failed: CommandOutput }> {
  const outputs = await Promise.all([
    Promise.all(
      json.map((what) => run('nft', ['-j', ...(isTerse ? ['-t'] : []), 'list', ...what])),
    ),
    Promise.all(text.map((what) => run('nft', ['-a', '-t', 'list', ...what]))),
  ])
  if (outputs.flat().some(({ status }) => status === 127)) return NONE
  const failed = outputs.flat().find(({ status }) => status !== 0)
  if (failed !== undefined) return { failed }
  const [listed = [], texts = []] = outputs.map((each) => each.map(({ stdout }) => stdout))
  return { json: listed, text: texts.join('') }
}

/** Whether iptables-nft keeps its rules in a table; tables of family inet belong to other programs. */
export function isOfIptables({ family, name }: { readonly family: string; readonly name: string }) {
  return family !== 'inet' && NAMES.has(name)
}
