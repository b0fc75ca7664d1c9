import type { Command, FieldType, Rule, Table } from '../../kernel/nftables/objects.ts'
import type { NetfilterSettings } from '../netfilter/settings/settings.ts'
import { CHAIN, SET } from './keys/names.ts'
import { choiceChain, choiceRules } from './program/choice-chain.ts'
import { baseChains } from './scaffolding/chains.ts'
import { baseSets } from './scaffolding/sets.ts'
import { destinationAddress, sourceAddress } from './statements/fields.ts'
import { IS_TRANSLATED, TO_NODE } from './statements/matches.ts'
import * as statement from './statements/statements.ts'

/** Something that the kernel must be able to do. */
export interface Need {
  readonly what: string
  /** In a table that is there already; empty: the table itself. */
  readonly commands: readonly Command[]
  readonly remedy: string
}

const CLIENTS = 'affinity-probe'

/** In an order in which each need presumes only earlier ones. */
export function needsOf(table: Table, settings: NetfilterSettings): readonly Need[] {
  const { family } = table
  const set = (name: string) => baseSets(settings, family).filter((one) => one.name === name)
  const chain = (name: string) => baseChains(settings, family).filter((one) => one.name === name)
  const sets = (...names: readonly string[]): Command[] =>
    names.flatMap(set).map(({ name, spec }) => ({ do: 'addSet', table, set: name, spec }))
  const hooks = (...names: readonly string[]): Command[] =>
    names.flatMap(chain).map(({ name, spec }) => ({ do: 'addChain', table, chain: name, spec }))
  const rules = (...made: readonly Rule[]): Command[] => [
    { do: 'addChain', table, chain: 'probe' },
    ...made.map((rule): Command => ({ do: 'addRule', table, chain: 'probe', rule })),
  ]
  const choice = choiceRules(choiceChain('', 2, ''), settings, family) ?? []
  const ip: FieldType = family === 4 ? 'ipv4_addr' : 'ipv6_addr'
  const clients: Command = {
    ...{ do: 'addSet', table, set: CLIENTS },
    spec: {
      ...{ key: [ip], data: [ip], isDynamic: true, hasTimeouts: true },
      size: 65_536,
    },
  }
  const remember = statement.update(CLIENTS, {
    ...{ key: [sourceAddress(family)], data: [destinationAddress(family)] },
    timeout: 1_000,
  })
  return [
    { what: 'tables', commands: [], remedy: load('nf_tables') },
    {
      what: 'chains that translate addresses',
      commands: hooks(CHAIN.prerouting, CHAIN.output, CHAIN.postrouting),
      remedy: load('nft_chain_nat'),
    },
    {
      what: 'chains that filter',
      commands: hooks(CHAIN.filterInput, CHAIN.filterForward, CHAIN.filterOutput),
      remedy: load('nf_tables'),
    },
    {
      what: 'random choice of an endpoint from a map',
      commands: [...sets(SET.endpoints), ...rules(...choice)],
      remedy: load('nft_numgen nft_nat'),
    },
    {
      what: 'masquerading',
      commands: rules({ expressions: statement.masquerade(settings.randomFully) }),
      remedy: load('nft_masq'),
    },
    {
      what: 'rejection',
      commands: rules({ expressions: statement.reject('portUnreachable') }),
      remedy: load(family === 4 ? 'nft_reject_ipv4' : 'nft_reject_ipv6'),
    },
    {
      what: 'the addresses of the node',
      commands: rules({ expressions: TO_NODE }),
      remedy: load(family === 4 ? 'nft_fib_ipv4' : 'nft_fib_ipv6'),
    },
    {
      what: 'the state of connections',
      commands: rules({ expressions: IS_TRANSLATED }),
      remedy: load('nft_ct'),
    },
    {
      what: 'ranges of source addresses',
      commands: sets(SET.sourceRanges),
      remedy: 'use Linux 5.6 or newer: older kernels have no ranges in keys of several fields',
    },
    {
      what: 'maps that packets fill',
      commands: [clients, ...rules({ expressions: remember })],
      remedy: 'use a kernel with nf_tables sets (CONFIG_NF_TABLES, Linux 5.6 or newer)',
    },
  ]
}

function load(modules: string): string {
  return `load the kernel module: modprobe ${modules}`
}
