import { existsSync } from 'node:fs'
import type { LoadReport, ModuleState } from '../../../kernel/kernel-modules.ts'
import { messageOf, NodeProxyError } from '../../../lib/error.ts'
import type { Missing, MissingRequirement } from '../../mode.ts'

const MISSING = 'NP_IPVS_MODULE_MISSING'

/** The modules that the ipvs mode may need, by the names that modprobe takes. */
export function ipvsModules(scheduler: string): readonly string[] {
  return [
    'ip_vs',
    `ip_vs_${scheduler}`,
    'nf_conntrack',
    'ip_set',
    'ip_set_hash_ip',
    'ip_set_hash_ipport',
    'ip_set_hash_ipportnet',
    'xt_set',
    'xt_mark',
    'xt_addrtype',
    'xt_conntrack',
  ]
}

/** The requirements for modules that are known to be missing in this kernel. */
export function missingModuleRequirements({
  states,
  errorText,
}: LoadReport): readonly MissingRequirement[] {
  return [...missingModules(states)].map(([name, why]) => {
    const words = errorText.split('; ').find((line) => mentions(line, name)) ?? errorText
    const what = `kernel module ${name} ${why.is}${words === '' ? '' : `: ${words}`}`
    return { code: MISSING, what, remedy: `${why.remedy}modprobe ${name}` }
  })
}

/**
 * What the mode could not do in this kernel, and the modules that explain it. Each missing requirement is reported
 * once, by its module if that is known.
 */
export function missingRequirements(
  missing: readonly Missing[],
  report: LoadReport,
): readonly MissingRequirement[] {
  const names = [...missingModules(report.states).keys()]
  const others = missing.filter(
    ({ what, remedy }) => !names.some((name) => mentions(`${what} ${remedy}`, name)),
  )
  return [
    ...missingModuleRequirements(report),
    ...others.map((other) => ({ code: MISSING, ...other })),
  ]
}

/** The missing requirement when the probe itself failed. */
export function unanswered(error: unknown): Missing {
  const what = messageOf(error)
  const hint = error instanceof NodeProxyError ? error.hint : undefined
  return { what, remedy: hint ?? 'run with CAP_NET_ADMIN on a kernel with IPVS and IP sets' }
}

interface Reason {
  readonly is: string
  readonly remedy: string
}

const REASONS: Partial<Record<ModuleState, Reason>> = {
  loadable: {
    is: 'exists but could not be loaded',
    remedy: 'load it on the host, or run with CAP_SYS_MODULE: ',
  },
  absent: {
    is: 'does not exist for this kernel',
    remedy: 'boot a kernel that has it, or install its modules; then: ',
  },
}

/** A scheduler that could not be loaded only because ip_vs is missing is not reported. */
function missingModules(states: LoadReport['states']): ReadonlyMap<string, Reason> {
  const missing = new Map<string, Reason>()
  for (const [name, state] of states) {
    const waits = state === 'loadable' && name.startsWith('ip_vs_') && missing.has('ip_vs')
    const why = REASONS[state]
    if (why !== undefined && !waits) missing.set(name, why)
  }
  return missing
}

/** As a whole word: `ip_vs` does not match `ip_vs_rr`. */
function mentions(text: string, module: string): boolean {
  return new RegExp(`\\b${module}\\b`).test(text)
}

/** Whether ip_vs is loaded in this kernel. A request to ip_vs itself would load its module. */
export function hasIpvs(): boolean {
  return existsSync('/proc/net/ip_vs')
}
