import type { Family } from '../../lib/ip.ts'
import { unreadable } from '../host/read-json.ts'
import type { RunCommand } from '../host/run-command.ts'
import { branchOf } from '../packet/branch.ts'
import type { HookFunction } from '../packet/hook-function.ts'
import type { Hook } from '../packet/packet-state.ts'

/** What `nft -j list chains` prints of a chain. */
interface ListedChain {
  readonly family: string
  readonly table: string
  readonly name: string
  readonly hook?: string
  readonly prio?: number
  readonly type?: string
}

const HOOKS: readonly Hook[] = ['prerouting', 'input', 'forward', 'output', 'postrouting']
const FAMILIES: ReadonlyMap<string, readonly Family[]> = new Map([
  ['ip', [4]],
  ['ip6', [6]],
  ['inet', [4, 6]],
])
/** Tables of the nft variant of iptables, whose rules `iptables-save` lists. */
const OF_IPTABLES = new Set(['raw', 'mangle', 'nat', 'filter', 'security'])

/**
 * The base chains of tables that nft made. Their rules are not interpreted: a packet that passes one becomes uncertain,
 * and the chain is named. Throws NP_EXPLAIN_READ.
 */
export async function readNftablesChains(run: RunCommand): Promise<readonly HookFunction[]> {
  const output = await run('nft', ['-j', 'list', 'chains'])
  if (output.status === 127) return []
  if (output.status !== 0) throw unreadable('nft -j list chains', output)
  return chainsOf(output.stdout).flatMap(hookFunctionOf)
}

function chainsOf(text: string): readonly ListedChain[] {
  const { nftables } = JSON.parse(text) as { readonly nftables: readonly { chain?: ListedChain }[] }
  return nftables.flatMap(({ chain }) => chain ?? [])
}

function hookFunctionOf(chain: ListedChain): readonly HookFunction[] {
  const { family, table, name, type, prio: priority = 0 } = chain
  const hook = HOOKS.find((one) => one === chain.hook)
  const families = FAMILIES.get(family)
  const isOther = family === 'inet' || !OF_IPTABLES.has(table)
  if (hook === undefined || families === undefined || !isOther) return []
  const source = `nft ${family} ${table} ${name}`
  const reason = `rules of the chain ${name} of the nftables table ${family} ${table} are not interpreted`
  return [
    {
      ...{ hook, families, priority, source, isNat: type === 'nat' },
      apply: (packet) => [branchOf(packet, { kind: 'uncertain', reason })],
    },
  ]
}
