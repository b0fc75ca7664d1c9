import { unreadable } from '../host/read-json.ts'
import type { RunCommand } from '../host/run-command.ts'
import { type NftTable, parseRuleset } from './model/ruleset.ts'

/** Reads all tables of nftables: their content as JSON, the texts of rules without the elements of sets. Throws NP_EXPLAIN_READ. */
export async function readNftables(run: RunCommand): Promise<readonly NftTable[]> {
  const json = await run('nft', ['-j', 'list', 'ruleset'])
  if (json.status === 127) return []
  if (json.status !== 0) throw unreadable('nft -j list ruleset', json)
  const text = await run('nft', ['-a', '-t', 'list', 'ruleset'])
  if (text.status !== 0) throw unreadable('nft -a -t list ruleset', text)
  return parseRuleset(json.stdout, text.stdout)
}
