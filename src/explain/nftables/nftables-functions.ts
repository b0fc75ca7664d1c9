import type { Family } from '../../lib/ip.ts'
import { ACCEPT, type Branch, branchOf, extend, mergeBranches } from '../packet/branch.ts'
import type { HookFunction } from '../packet/hook-function.ts'
import type { HostFacts } from '../packet/host-facts.ts'
import type { Hook, PacketState } from '../packet/packet-state.ts'
import type { NftChain, NftRule, NftTable } from './model/ruleset.ts'
import { isOfIptables } from './read-nftables.ts'
import { type NftContext, runNftChain } from './run-chain.ts'

type HookContext = Omit<NftContext, 'limits'>

const HOOKS: readonly Hook[] = ['prerouting', 'input', 'forward', 'output', 'postrouting']
const FAMILIES: ReadonlyMap<string, readonly Family[]> = new Map([
  ['ip', [4]],
  ['ip6', [6]],
  ['inet', [4, 6]],
])

/** The hook functions of tables: one for each base chain of IP packets, except those that `iptables-save` lists. */
export function nftablesFunctions(
  tables: readonly NftTable[],
  facts: HostFacts,
): readonly HookFunction[] {
  return tables.flatMap((table) =>
    [...table.chains.values()].flatMap((chain) => hookFunction(table, chain, facts)),
  )
}

function hookFunction(table: NftTable, chain: NftChain, facts: HostFacts): readonly HookFunction[] {
  const { base, name } = chain
  const hook = HOOKS.find((one) => one === base?.hook)
  const families = FAMILIES.get(table.family)
  if (base === undefined || hook === undefined || families === undefined) return []
  // iptables-nft names the chain of a hook INPUT. Another one in a table of this name is of another program.
  if (isOfIptables(table) && name === hook.toUpperCase()) return []
  const context: HookContext = { source: `nft ${table.family} ${table.name}`, hook, table, facts }
  const found: HookFunction = {
    hook,
    families,
    priority: base.priority,
    isNat: base.type === 'nat',
    reroutesMarks: base.type === 'route',
    source: `${context.source} ${name}`,
    apply: (packet) => runBase(context, chain, packet),
  }
  return [found]
}

/** How the packets before this one exceed a limit is not known; it does not matter where both ways end alike. */
function runBase(context: HookContext, chain: NftChain, packet: PacketState): readonly Branch[] {
  const limiting = new Set<NftRule>()
  const run = (areExceeded: boolean | undefined) =>
    runToEnd({ ...context, limits: { areExceeded, limiting } }, chain, packet)
  const found = run(undefined)
  if (limiting.size === 0) return found
  const [within, beyond] = [run(false), run(true)]
  // Of several limits, some may be exceeded and others not.
  return limiting.size === 1 && endsOf(within) === endsOf(beyond) ? within : found
}

function endsOf(branches: readonly Branch[]): string {
  const ends = mergeBranches(branches).map(({ verdict, packet, probability }) =>
    JSON.stringify([verdict, packet, probability]),
  )
  return ends.toSorted().join()
}

function runToEnd(context: NftContext, chain: NftChain, packet: PacketState): readonly Branch[] {
  return runNftChain(context, chain, packet).flatMap((branch) =>
    branch.verdict.kind === 'continue'
      ? extend(branch, (now) => byPolicy(context, chain, now))
      : [branch],
  )
}

function byPolicy({ source }: NftContext, { name, base }: NftChain, packet: PacketState) {
  if (base?.policy !== 'drop') return [branchOf(packet, ACCEPT)]
  const step = {
    where: `${source} ${name}`,
    object: 'policy drop',
    text: 'the policy of the chain',
  }
  return [branchOf(packet, { kind: 'drop' }, [step])]
}
