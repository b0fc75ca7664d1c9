import type { SetCommand, Sets, SetType } from '../../kernel/ipset/sets.ts'
import type { Iptables } from '../../kernel/iptables/iptables.ts'
import type { Family } from '../../lib/ip.ts'
import type { Missing } from '../mode.ts'
import type { Table } from './chains/place.ts'

/** One rule to try, and what to report if the kernel refuses it. */
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

/** What to try for one family; the rules are tried only if all sets could be created. */
export interface Trials {
  readonly family: Family
  readonly sets: readonly SetTrial[]
  /** The name of the chain for the rules; no packet meets this chain. */
  readonly chain: string
  readonly rules: readonly RuleTrial[]
}

interface TrialKernel {
  readonly sets: Sets
  readonly iptables: Iptables
}

/** Creates sets and rules where no packet meets them, removes them, and returns what was refused. */
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

/** The missing requirement that a thrown error stands for. */
export function missingRequirement(what: string, error: unknown, remedy: string): Missing {
  const message = error instanceof Error ? error.message : String(error)
  return { what: `${what}: ${message}`, remedy }
}

/** `hash:ip,port,net` → `ip_set_hash_ipportnet`. */
function moduleOf(type: string): string {
  return `ip_set_${type.replace(':', '_').replaceAll(',', '')}`
}
