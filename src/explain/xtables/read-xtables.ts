import type { Family } from '../../lib/ip.ts'
import { unreadable } from '../host/read-json.ts'
import type { RunCommand } from '../host/run-command.ts'
import type { IpSet } from './model/ip-set.ts'
import { parseSets } from './model/parse-sets.ts'
import { parseRuleset } from './model/ruleset.ts'
import type { XtablesListing } from './xtables-functions.ts'

/** A kernel holds rules of both variants at once; `''`: `iptables` of a machine without programs for each. */
const VARIANTS = ['-nft', '-legacy', ''] as const

/** Rules of both families and IP sets, each read once. */
export interface XtablesSnapshot {
  readonly listings: readonly XtablesListing[]
  readonly sets: ReadonlyMap<string, IpSet>
}

/** No such program, or ipset without kernel support: there are no rules of that kind. */
const MISSING = 127

/** Reads the rules of both variants of iptables, and all IP sets. Throws NP_EXPLAIN_READ. */
export async function readXtables(run: RunCommand): Promise<XtablesSnapshot> {
  const listings: XtablesListing[] = []
  for (const family of [4, 6] as const) {
    for (const variant of VARIANTS) {
      if (variant === '' && listings.some((one) => one.family === family)) continue
      const listing = await readListing(run, family, variant)
      if (listing !== undefined) listings.push(listing)
    }
  }
  const sets = await run('ipset', ['save'])
  if (sets.status !== 0 && sets.status !== MISSING) throw unreadable('ipset save', sets)
  return { listings, sets: parseSets(sets.stdout) }
}

async function readListing(
  run: RunCommand,
  family: Family,
  variant: (typeof VARIANTS)[number],
): Promise<XtablesListing | undefined> {
  const name = family === 4 ? 'iptables' : 'ip6tables'
  const output = await run(`${name}${variant}-save`, ['-c'])
  if (output.status === MISSING) return undefined
  if (output.status !== 0) throw unreadable(`${name}${variant}-save`, output)
  const program = variant === '-legacy' ? `${name}-legacy` : name
  return { family, program, ruleset: parseRuleset(output.stdout) }
}
