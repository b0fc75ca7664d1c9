import type { SetCommand, Sets, SetType } from '../../kernel/ipset/sets.ts'
import type { Iptables } from '../../kernel/iptables/iptables.ts'
import { messageOf } from '../../lib/error.ts'
import type { Family } from '../../lib/ip.ts'
import type { Missing } from '../mode.ts'
import type { Table } from './chains/place.ts'

/** One rule to try, and what to do when the kernel refuses it. */
export interface RuleTrial {
  readonly what: string
  readonly table: Table
  readonly rule: string
  readonly remedy: string
}

/** A set to try, under a name that no mode uses. */
export interface SetTrial {
  readonly name: string
  readonly type: SetType
}

/** What to try of one family; the rules are tried where all sets could be made. */
export interface Trials {
  readonly family: Family
  readonly sets: readonly SetTrial[]
  /** Of the chain that the rules stand in, which no packet meets. */
  readonly chain: string
  readonly rules: readonly RuleTrial[]
}

interface TrialKernel {
  readonly sets: Sets
  readonly iptables: Iptables
}

/** Makes sets and rules where no packet meets them, removes them, and says what was refused. */
export async function tryNetfilter(
  kernel: TrialKernel,
  trials: Trials,
): Promise<readonly Missing[]> {
  const { family, sets } = trials
  try {
    const refusals = await kernel.sets.run(
      sets.map(({ name, type }): SetCommand => ({ do: 'create', name, type })),
    )
    const missing = refusals.map(({ index, message }): Missing => {
      const type = sets[index]?.type.type ?? ''
      const remedy = `load the kernel module: modprobe ${moduleOf(type)}`
      return { what: `IPv${family} sets of type ${type}: ${message}`, remedy }
    })
    if (missing.length === 0) missing.push(...(await tryRules(kernel, trials)))
    const refused = new Set(refusals.map(({ index }) => index))
    const made = sets.filter((_, index) => !refused.has(index))
    await kernel.sets.run(made.map(({ name }): SetCommand => ({ do: 'destroy', name })))
    return missing
  } catch (error) {
    const remedy = 'load the kernel modules: modprobe -a ip_set xt_set'
    return [missingRequirement(`IPv${family} sets of addresses`, error, remedy)]
  }
}

async function tryRules(
  { iptables }: Pick<TrialKernel, 'iptables'>,
  { family, chain, rules }: Trials,
): Promise<readonly Missing[]> {
  const missing: Missing[] = []
  for (const { what, table, rule, remedy } of rules) {
    const text = `*${table}\n:${chain} - [0:0]\n-A ${chain} ${rule}\n-F ${chain}\n-X ${chain}\nCOMMIT\n`
    const result = await iptables.restore(family, text)
    const cannot = !result.ok && (result.kind === 'refused' || result.kind === 'missing')
    if (cannot) missing.push({ what: `IPv${family} ${what}: ${result.message}`, remedy })
  }
  return missing
}

/** What a thrown error says is missing. */
export function missingRequirement(what: string, error: unknown, remedy: string): Missing {
  const message = messageOf(error)
  return { what: `${what}: ${message}`, remedy }
}

/** `hash:ip,port,net` → `ip_set_hash_ipportnet`. */
function moduleOf(type: string): string {
  return `ip_set_${type.replace(':', '_').replaceAll(',', '')}`
}
