import type { Family } from '../../lib/ip.ts'
import type { Probe } from '../mode.ts'
import { setMark } from '../netfilter/mark.ts'
import { isHairpinOffLoopback, masqueradeFacts } from '../netfilter/postrouting.ts'
import type { NetfilterSettings } from '../netfilter/settings/settings.ts'
import {
  connectionStates,
  loadModules,
  missingRequirement,
  type RuleTrial,
  tryNetfilter,
} from '../netfilter/trial.ts'
import type { IpvsDependencies } from './managed-state.ts'
import { PREFIX, type SetRole, TRIED_SETS } from './objects/names.ts'
import { markPattern } from './objects/short-circuit-mark.ts'
import type { IpvsSettings } from './settings.ts'

const CHAIN = `${PREFIX}PROBE`
/** One of each type. */
const TRIED_ROLES = [
  'SERVICES',
  'VIPS',
  'ALLOWED',
  'SHORTCUT',
] as const satisfies readonly SetRole[]

/**
 * Tries what the mode needs where no packet meets it, and removes it again: a
 * virtual server with the configured scheduler, a set of each type, and each kind
 * of rule. A list of modules would not show what the kernel accepts. What does not work is returned as a value;
 * `facts` go into the log.
 */
export async function probeIpvs(kernel: IpvsDependencies, settings: IpvsSettings): Promise<Probe> {
  const { backend, version } = kernel.iptables
  const { missing, facts } = await tryIpvs(kernel, settings)
  const rest = await tryNetfilter(
    kernel,
    settings.netfilter.families.map((family) => ({
      family,
      chain: CHAIN,
      sets: TRIED_ROLES.map(TRIED_SETS[family].of),
      rules: trials(settings.netfilter, family),
    })),
  )
  const ports = masqueradeFacts(settings.netfilter)
  return {
    missing: [...missing, ...rest],
    facts: { backend, iptables: version, ...facts, ...ports },
  }
}

async function tryIpvs(
  { ipvs }: Pick<IpvsDependencies, 'ipvs'>,
  { scheduler, netfilter }: IpvsSettings,
): Promise<Probe> {
  try {
    const info = await ipvs.info()
    const id = { family: 4, mark: markPattern(netfilter).value } as const
    const settings = { scheduler, flags: [], persistence: undefined }
    const [refusal] = await ipvs.run([{ do: 'addService', id, settings }])
    if (refusal === undefined) await ipvs.run([{ do: 'deleteService', id }])
    const facts = { ipvs: info.version, connectionTableSize: String(info.connectionTableSize) }
    if (refusal === undefined || refusal.errno === 'EEXIST') return { missing: [], facts }
    const remedy = `load the kernel module: modprobe ip_vs_${scheduler}; or set ipvs.scheduler to another one`
    return { missing: [{ what: `IPVS scheduler ${scheduler}: ${refusal.message}`, remedy }], facts }
  } catch (error) {
    const remedy = 'load the kernel module: modprobe ip_vs'
    return { missing: [missingRequirement('IP virtual servers', error, remedy)], facts: {} }
  }
}

/** A rule for each extension that `base-rules.ts` uses. */
export function trials(settings: NetfilterSettings, family: Family): readonly RuleTrial[] {
  const { isIn, isNotIn, name } = TRIED_SETS[family]
  return [
    {
      what: 'rules that match sets',
      table: 'mangle',
      rule: `${isIn('SERVICES')}${isIn('VIPS', 'dst')}${isNotIn('ALLOWED', 'dst,dst,src')}-j RETURN`,
      remedy: loadModules('xt_set'),
    },
    {
      what: 'marks from sets',
      table: 'mangle',
      rule: `-j SET --map-set ${name('SHORTCUT')} dst,dst --map-mark`,
      remedy: loadModules('xt_set'),
    },
    {
      what: 'packet marks',
      table: 'nat',
      rule: `-m addrtype --src-type LOCAL ${setMark(settings)}`,
      remedy: loadModules('xt_addrtype xt_mark'),
    },
    {
      what: 'recognition of pods that reach themselves',
      table: 'nat',
      rule: `${isHairpinOffLoopback(family)}-j MASQUERADE`,
      remedy: loadModules('xt_bpf xt_MASQUERADE'),
    },
    connectionStates(family),
  ]
}
