import type { Family } from '../../lib/ip.ts'
import { present } from '../../resources/present.ts'
import { unreadable } from '../host/read-json.ts'
import type { RunCommand } from '../host/run-command.ts'
import type { IpSet } from './model/ip-set.ts'
import { parseSets } from './model/parse-sets.ts'
import { parseRuleset } from './model/ruleset.ts'
import type { XtablesListing } from './xtables-functions.ts'

/** A kernel holds rules of both variants at once; `''`: `iptables` of a machine without programs for each. */
type Variant = '-nft' | '-legacy' | ''

/** Rules of both families and IP sets, each read once. */
export interface XtablesSnapshot {
  readonly listings: readonly XtablesListing[]
  readonly sets: ReadonlyMap<string, IpSet>
}

/** No such program, or ipset without kernel support: there are no rules of that kind. */
const MISSING = 127

/** Reads the rules of both variants of iptables, and all IP sets. Throws NP_EXPLAIN_READ. */
export async function readXtables(run: RunCommand): Promise<XtablesSnapshot> {
  const [four, six, sets] = await Promise.all([
    readListings(run, 4),
    readListings(run, 6),
    readSets(run),
  ])
  return { listings: [...four, ...six], sets }
}

async function readListings(run: RunCommand, family: Family): Promise<readonly XtablesListing[]> {
  const read = async (variants: readonly Variant[]) =>
    present(await Promise.all(variants.map((variant) => readListing(run, family, variant))))
  const found = await read(['-nft', '-legacy'])
  return found.length > 0 ? found : await read([''])
}

async function readSets(run: RunCommand): Promise<XtablesSnapshot['sets']> {
  const sets = await run('ipset', ['save'])
  if (sets.status !== 0 && sets.status !== MISSING) throw unreadable('ipset save', sets)
  return parseSets(sets.stdout)
}

async function readListing(
  run: RunCommand,
  family: Family,
  variant: Variant,
): Promise<XtablesListing | undefined> {
  const name = family === 4 ? 'iptables' : 'ip6tables'
  const output = await run(`${name}${variant}-save`, ['-c'])
  if (output.status === MISSING) return undefined
  if (output.status !== 0) throw unreadable(`${name}${variant}-save`, output)
  const program = variant === '-legacy' ? `${name}-legacy` : name
  return { family, program, ruleset: parseRuleset(output.stdout) }
}
