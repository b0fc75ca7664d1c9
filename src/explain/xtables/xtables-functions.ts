import type { Family } from '../../lib/ip.ts'
import { ACCEPT, type Branch, branchOf, extend, type Step } from '../packet/branch.ts'
import type { HookFunction } from '../packet/hook-function.ts'
import type { Hook, PacketState } from '../packet/packet-state.ts'
import type { Chain, Ruleset } from './model/ruleset.ts'
import type { XtablesWorld } from './model/xtables-world.ts'
import { type ChainContext, runChain } from './run-chain.ts'

/** One listing: the tables of a family in one variant. */
export interface XtablesListing {
  readonly family: Family
  /** How steps name it: `iptables`, `ip6tables`, `iptables-legacy`. */
  readonly program: string
  readonly ruleset: Ruleset
}

const HOOKS: ReadonlyMap<string, Hook> = new Map([
  ['PREROUTING', 'prerouting'],
  ['INPUT', 'input'],
  ['FORWARD', 'forward'],
  ['OUTPUT', 'output'],
  ['POSTROUTING', 'postrouting'],
])

/** Priorities of the tables (linux/netfilter_ipv4.h); of `nat` where it replaces the destination. */
const PRIORITIES: ReadonlyMap<string, number> = new Map([
  ['raw', -300],
  ['mangle', -150],
  ['nat', -100],
  ['filter', 0],
  ['security', 50],
])
const SOURCE_NAT = 100

/** The hook functions of a listing: one for each built-in chain. */
export function xtablesFunctions(
  listing: XtablesListing,
  world: XtablesWorld,
): readonly HookFunction[] {
  const { family, program, ruleset } = listing
  return [...ruleset].flatMap(([tableName, table]) =>
    [...HOOKS].flatMap(([chainName, hook]) => {
      const chain = table.get(chainName)
      if (chain === undefined) return []
      const source = `${program} ${tableName}`
      const context: ChainContext = { source, hook, table, world }
      const found: HookFunction = {
        hook,
        families: [family],
        priority: priorityOf(tableName, hook),
        isNat: tableName === 'nat',
        reroutesMarks: tableName === 'mangle' && hook === 'output',
        source: `${source} ${chainName}`,
        apply: (packet) => runBase(context, chain, packet),
      }
      return [found]
    }),
  )
}

function priorityOf(table: string, hook: Hook): number {
  if (table === 'nat' && (hook === 'input' || hook === 'postrouting')) return SOURCE_NAT
  return PRIORITIES.get(table) ?? 0
}

function runBase(context: ChainContext, chain: Chain, packet: PacketState): readonly Branch[] {
  return runChain(context, chain, packet).flatMap((branch) =>
    branch.verdict.kind === 'continue'
      ? extend(branch, (now) => byPolicy(context, chain, now))
      : [branch],
  )
}

function byPolicy({ source }: ChainContext, { name, policy }: Chain, packet: PacketState) {
  if (policy !== 'DROP') return [branchOf(packet, ACCEPT)]
  const where = `${source} ${name}`
  const step: Step = { where, object: `-P ${name} DROP`, text: 'the policy of the chain: DROP' }
  return [branchOf(packet, { kind: 'drop' }, [step])]
}
