import type { SetCommand, Sets } from '../../kernel/ipset/sets.ts'
import type { Iptables } from '../../kernel/iptables/iptables.ts'
import { messageOf } from '../../lib/error.ts'
import type { Family } from '../../lib/ip.ts'
import type { Missing } from '../mode.ts'
import type { Table } from './chains/object.ts'
import { isHairpin } from './postrouting.ts'
import type { KeptSet } from './role-sets.ts'
import type { KernelFacts } from './settings/settings.ts'

/** One rule to try, and what to report if the kernel refuses it. */
export interface RuleTrial {
  readonly what: string
  readonly table: Table
  readonly rule: string
  readonly remedy: string
}

/** The rules of one family that are tried. */
interface RuleTrials {
  readonly family: Family
  /** The chain that the rules stand in, which no packet meets. */
  readonly chain: string
  readonly rules: readonly RuleTrial[]
}

/** What to try of one family; the rules are tried where all sets could be made. */
interface Trials extends RuleTrials {
  /** Under names that no mode uses. */
  readonly sets: readonly KeptSet[]
}

interface TrialKernel {
  readonly sets: Sets
  readonly iptables: Iptables
}

/** Creates sets and rules where no packet meets them, removes them, and returns what was refused. */
export async function tryNetfilter(
  kernel: TrialKernel,
  trials: readonly Trials[],
): Promise<readonly Missing[]> {
  const missing: Missing[] = []
  for (const each of trials) missing.push(...(await tryFamily(kernel, each)))
  return missing
}

/** The modules that a kernel needs for a rule, as a remedy. */
export function loadModules(modules: string): string {
  return `load the kernel modules: modprobe -a ${modules}`
}

/** Tried for the answers of the filter table. */
export function connectionStates(family: Family): RuleTrial {
  return {
    what: 'connection states',
    table: 'filter',
    rule: '-p tcp -m conntrack --ctstate NEW -j REJECT --reject-with tcp-reset',
    remedy: loadModules(`xt_conntrack ${rejectModule(family)}`),
  }
}

/** The module of the target REJECT. */
export function rejectModule(family: Family): string {
  return family === 4 ? 'ipt_REJECT' : 'ip6t_REJECT'
}

async function tryFamily(kernel: TrialKernel, trials: Trials): Promise<readonly Missing[]> {
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
    if (missing.length === 0) missing.push(...(await tryRules(kernel.iptables, trials)))
    const refused = new Set(refusals.map(({ index }) => index))
    const made = sets.filter((_, index) => !refused.has(index))
    await kernel.sets.run(made.map(({ name }): SetCommand => ({ do: 'destroy', name })))
    return missing
  } catch (error) {
    const remedy = 'load the kernel modules: modprobe -a ip_set xt_set'
    return [missingRequirement(`IPv${family} sets of addresses`, error, remedy)]
  }
}

/** Puts each rule into the chain and removes both again; says what was refused. */
export async function tryRules(
  iptables: Pick<Iptables, 'restore'>,
  { family, chain, rules }: RuleTrials,
): Promise<readonly Missing[]> {
  const missing: Missing[] = []
  for (const { what, table, rule, remedy } of rules) {
    const result = await iptables.restore(family, trialText({ table, chain, rule }))
    const cannot = !result.ok && (result.kind === 'refused' || result.kind === 'missing')
    if (cannot) missing.push({ what: `IPv${family} ${what}: ${result.message}`, remedy })
  }
  return missing
}

/** Makes a chain with one rule and removes it, for `iptables-restore`. */
function trialText({
  table,
  chain,
  rule,
}: Pick<RuleTrial, 'table' | 'rule'> & Pick<RuleTrials, 'chain'>): string {
  return `*${table}\n:${chain} - [0:0]\n-A ${chain} ${rule}\n-F ${chain}\n-X ${chain}\nCOMMIT\n`
}

/** The missing requirement that a thrown error stands for. */
export function missingRequirement(what: string, error: unknown, remedy: string): Missing {
  const message = messageOf(error)
  return { what: `${what}: ${message}`, remedy }
}

/** `hash:ip,port,net` → `ip_set_hash_ipportnet`. */
function moduleOf(type: string): string {
  return `ip_set_${type.replace(':', '_').replaceAll(',', '')}`
}

const CHAIN = 'NPROXY-PROBE'

/**
 * Detects by trial which optional extensions the kernel has: hairpin by one BPF rule, fully random source ports, rules
 * that match sockets. Only a refusal proves that an extension is missing; a held lock proves nothing. How the kernel
 * searches for a free port can only be told by its version (`release`, as `uname -r` prints it): Linux 5.0 and later
 * begin at random (commit 912da924a29f).
 */
export async function detectExtensions(
  iptables: Pick<Iptables, 'restore'>,
  release: string,
): Promise<Omit<KernelFacts, 'families' | 'routesLocalnet'>> {
  const works = async (rule: string, table: Table = 'nat') => {
    const result = await iptables.restore(4, trialText({ table, chain: CHAIN, rule }))
    return result.ok || result.kind !== 'refused'
  }
  return {
    hairpin: (await works(`${isHairpin(4)}-j RETURN`)) ? 'bpf' : 'rules',
    randomFully: await works('-j MASQUERADE --random-fully'),
    matchesSockets: await works('-m socket --nowildcard -j RETURN', 'mangle'),
    searchesPortsInOrder: linuxVersion(release) < 5_000,
  }
}

/**
 * Major and minor version of what `uname -r` prints, as one comparable number: `5.10.0-8-amd64` is 5,010. NaN if it is
 * not a version.
 */
export function linuxVersion(release: string): number {
  const [, major, minor] = /^(\d+)\.(\d+)/.exec(release) ?? []
  return Number(major) * 1_000 + Number(minor)
}
