import { unreadable } from '../host/read-json.ts'
import type { RunCommand } from '../host/run-command.ts'
import type { IpSet } from './model/ip-set.ts'
import { parseSets } from './model/parse-sets.ts'
import { parseRuleset } from './model/ruleset.ts'
import type { XtablesListing } from './xtables-functions.ts'

/** `''`: the machine's own variant of iptables. */
export type XtablesVariant = '' | 'nft' | 'legacy'

/** Rules of both families and IP sets, each read once. */
export interface XtablesSnapshot {
  readonly listings: readonly XtablesListing[]
  readonly sets: ReadonlyMap<string, IpSet>
}

/** No such program, or ipset without kernel support: there are no rules of that kind. */
const MISSING = 127

/** Reads the rules of the given variants, and all IP sets. Throws NP_EXPLAIN_READ. */
export async function readXtables(
  run: RunCommand,
  variants: readonly XtablesVariant[] = [''],
): Promise<XtablesSnapshot> {
  const listings: XtablesListing[] = []
  for (const variant of variants) {
    for (const family of [4, 6] as const) {
      const suffix = variant === '' ? '' : `-${variant}`
      const program = `${family === 4 ? 'iptables' : 'ip6tables'}${suffix}`
      const output = await run(`${program}-save`, ['-c'])
      if (output.status === MISSING) continue
      if (output.status !== 0) throw unreadable(`${program}-save`, output)
      listings.push({ family, program, ruleset: parseRuleset(output.stdout) })
    }
  }
  const sets = await run('ipset', ['save'])
  if (sets.status !== 0 && sets.status !== MISSING) throw unreadable('ipset save', sets)
  return { listings, sets: parseSets(sets.stdout) }
}
