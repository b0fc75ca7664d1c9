import type { Nftables } from '../../kernel/nftables/nftables.ts'
import type { Command, FieldType, Rule, SetSpec, Table } from '../../kernel/nftables/objects.ts'
import { destinationAddress, sourceAddress } from '../../kernel/nftables/rules/fields.ts'
import { IS_TRANSLATED, TO_NODE } from '../../kernel/nftables/rules/matches.ts'
import * as statement from '../../kernel/nftables/rules/statements.ts'
import { messageOf } from '../../lib/error.ts'
import type { Family } from '../../lib/ip.ts'
import type { Missing, Probe } from '../mode.ts'
import { masqueradeFacts } from '../netfilter/postrouting.ts'
import type { NetfilterSettings } from '../netfilter/settings/settings.ts'
import { CHAIN, PROBE_TABLE, SET } from './keys/names.ts'
import { baseChains } from './program/base-chains.ts'
import { baseSets } from './program/base-sets.ts'
import { choiceChain, choiceRules } from './program/choice-chain.ts'

const CLIENTS = 'affinity-probe'

/**
 * Tries everything that the rules need, in a table that no packet meets and that is removed in the same transaction. A
 * list of modules would not show what the kernel accepts.
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

/** The missing requirement if the kernel does not support it, else undefined. */
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
    return messageOf(error)
  }
}

/** Something that the kernel must support. */
interface Need {
  readonly what: string
  /** The commands in a table that exists already; empty for the table itself. */
  readonly commands: readonly Command[]
  readonly remedy: string
}

/** Ordered so that each need depends only on earlier ones. */
function needsOf(table: Table, settings: NetfilterSettings): readonly Need[] {
  return [
    { what: 'tables', commands: [], remedy: load('nf_tables') },
    ...chainNeeds(table, settings),
    ...ruleNeeds(table, settings),
    ...setNeeds(table, settings),
  ]
}

function chainNeeds(table: Table, settings: NetfilterSettings): readonly Need[] {
  const chains = new Map(baseChains(settings, table.family).map((one) => [one.name, one.spec]))
  const hooks = (...names: readonly string[]): Command[] =>
    names.map((chain) => ({ do: 'addChain', table, chain, spec: chains.get(chain) ?? {} }))
  return [
    {
      what: 'chains that translate addresses',
      commands: hooks(CHAIN.prerouting, CHAIN.input, CHAIN.output, CHAIN.postrouting),
      remedy: load('nft_chain_nat'),
    },
    {
      what: 'chains that filter',
      commands: hooks(CHAIN.filterInput, CHAIN.filterForward, CHAIN.filterOutput),
      remedy: load('nf_tables'),
    },
  ]
}

function ruleNeeds(table: Table, settings: NetfilterSettings): readonly Need[] {
  const { family } = table
  const need = (what: string, modules: string, ...statements: readonly statement.Statement[]) => ({
    what,
    commands: rulesOf(table, { expressions: statements.flat() }),
    remedy: load(modules),
  })
  const choice = choiceRules(choiceChain('', 2, ''), settings, family) ?? []
  return [
    {
      what: 'random choice of an endpoint from a map',
      commands: [...setOf(table, settings, SET.endpoints), ...rulesOf(table, ...choice)],
      remedy: load('nft_numgen nft_nat'),
    },
    need('masquerading', 'nft_masq', statement.masquerade(settings.randomFully)),
    need('rejection', `nft_reject_ipv${family}`, statement.reject('portUnreachable')),
    need('the addresses of the node', `nft_fib_ipv${family}`, TO_NODE),
    need('the state of connections', 'nft_ct', IS_TRANSLATED),
  ]
}

function setNeeds(table: Table, settings: NetfilterSettings): readonly Need[] {
  const { family } = table
  const ip: FieldType = family === 4 ? 'ipv4_addr' : 'ipv6_addr'
  const spec: SetSpec = { key: [ip], data: [ip], isDynamic: true, hasTimeouts: true, size: 65_536 }
  const remember = statement.update(CLIENTS, {
    key: [sourceAddress(family)],
    data: [destinationAddress(family)],
    timeout: 1_000,
  })
  return [
    {
      what: 'ranges of source addresses',
      commands: setOf(table, settings, SET.sourceRanges),
      remedy: 'use Linux 5.6 or newer: older kernels have no ranges in keys of several fields',
    },
    {
      what: 'maps that packets fill',
      commands: [
        { do: 'addSet', table, set: CLIENTS, spec },
        ...rulesOf(table, { expressions: remember }),
      ],
      remedy: 'use a kernel with nf_tables sets (CONFIG_NF_TABLES, Linux 5.6 or newer)',
    },
    ...(settings.countsTraffic ? [counters(table, settings)] : []),
  ]
}

function counters(table: Table, settings: NetfilterSettings): Need {
  const chain = baseChains(settings, table.family).find(({ name }) => name === CHAIN.translated)
  return {
    what: 'counters that packets add',
    commands: [
      ...[SET.connections, SET.remembered, SET.rememberedNodePorts].flatMap((set) =>
        setOf(table, settings, set),
      ),
      ...rulesOf(table, ...(chain?.rules ?? [])),
    ],
    remedy: load('nft_counter'),
  }
}

/** One of the fixed sets. */
function setOf(table: Table, settings: NetfilterSettings, set: string): readonly Command[] {
  const { spec } = baseSets(settings, table.family).find(({ name }) => name === set) ?? {}
  return spec ? [{ do: 'addSet', table, set, spec }] : []
}

/** Rules of a chain that no packet meets. */
function rulesOf(table: Table, ...rules: readonly Rule[]): readonly Command[] {
  const chain = 'probe'
  return [
    { do: 'addChain', table, chain },
    ...rules.map((rule): Command => ({ do: 'addRule', table, chain, rule })),
  ]
}

function load(modules: string): string {
  return `load the kernel modules: modprobe -a ${modules}`
}
