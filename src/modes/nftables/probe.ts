import type { Nftables } from '../../kernel/nftables/nftables.ts'
import type { Table } from '../../kernel/nftables/objects.ts'
import type { Family } from '../../lib/ip.ts'
import type { Missing, Probe } from '../mode.ts'
import { masqueradeFacts } from '../netfilter/postrouting.ts'
import type { NetfilterSettings } from '../netfilter/settings/settings.ts'
import { PROBE_TABLE } from './keys/names.ts'
import { type Need, needsOf } from './needs.ts'

/**
 * Tries each thing that the rules need in a table that no packet meets and that goes with the same transaction: a list
 * of modules would not show what the kernel accepts.
 */
export async function probeNftables(
  nftables: Nftables,
  settings: NetfilterSettings,
): Promise<Probe> {
  const missing: Missing[] = []
  for (const family of settings.families)
    missing.push(...(await missingOf(nftables, settings, family)))
  return { missing, facts: masqueradeFacts(settings) }
}

async function missingOf(
  nftables: Nftables,
  settings: NetfilterSettings,
  family: Family,
): Promise<readonly Missing[]> {
  const table = { family, name: PROBE_TABLE }
  const missing: Missing[] = []
  for (const need of needsOf(table, settings)) {
    const message = await attempt(nftables, table, need)
    if (message === undefined) continue
    missing.push({ what: `IPv${family} ${need.what}: ${message}`, remedy: need.remedy })
    // Without tables nothing else can work.
    if (need.commands.length === 0) break
  }
  return missing
}

/** Why the kernel cannot do it; undefined: it can. */
async function attempt(
  nftables: Nftables,
  table: Table,
  { commands }: Need,
): Promise<string | undefined> {
  try {
    const error = await nftables.commit([
      { do: 'addTable', table },
      ...commands,
      { do: 'deleteTable', table },
    ])
    return error?.message
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
