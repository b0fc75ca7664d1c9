import type { Family } from '../../lib/ip.ts'
import type { Missing, Probe } from '../mode.ts'
import { isHairpinOffLoopback } from '../netfilter/hairpin.ts'
import { setMark } from '../netfilter/mark.ts'
import { masqueradeFacts } from '../netfilter/postrouting.ts'
import type { NetfilterSettings } from '../netfilter/settings/settings.ts'
import {
  missingRequirement,
  type RuleTrial,
  type Trials,
  tryNetfilter,
} from '../netfilter/trial.ts'
import type { IpvsDependencies } from './managed-state.ts'
import { PREFIX, type SetRole, setType } from './objects/names.ts'
import { markPattern } from './objects/short-circuit-mark.ts'
import type { IpvsSettings } from './settings.ts'

const CHAIN = `${PREFIX}PROBE`
/** One set of each type. */
const SETS = ['SERVICES', 'VIPS', 'ALLOWED', 'SHORTCUT'] as const satisfies readonly SetRole[]

/**
 * Tries what the mode needs where no packet meets it, and removes it again: a
 * virtual server with the configured scheduler, a set of each type, and each kind
 * of rule. A list of modules would not show what the kernel accepts. What does not work is returned as a value;
 * `facts` go into the log.
 */
export async function probeIpvs(kernel: IpvsDependencies, settings: IpvsSettings): Promise<Probe> {
  const { backend, version } = kernel.iptables
  const { missing, facts } = await tryIpvs(kernel, settings)
  const rest: Missing[] = []
  for (const family of settings.netfilter.families) {
    rest.push(...(await tryNetfilter(kernel, netfilterTrials(settings, family))))
  }
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

function netfilterTrials({ netfilter }: IpvsSettings, family: Family): Trials {
  const nameOf = (role: SetRole) => `${PREFIX}PROBE-${family}-${role}`
  return {
    family,
    chain: CHAIN,
    sets: SETS.map((role) => ({ name: nameOf(role), type: setType(family, role) })),
    rules: trials(netfilter, family, nameOf),
  }
}

/** A rule for each extension that `scaffolding.ts` uses. */
export function trials(
  settings: NetfilterSettings,
  family: Family,
  nameOf: (role: SetRole) => string,
): readonly RuleTrial[] {
  const load = (modules: string) => `load the kernel modules: modprobe -a ${modules}`
  const reject = family === 4 ? 'ipt_REJECT' : 'ip6t_REJECT'
  return [
    {
      what: 'rules that match sets',
      table: 'mangle',
      rule: `-m set --match-set ${nameOf('SERVICES')} dst,dst -m set --match-set ${nameOf('VIPS')} dst -m set ! --match-set ${nameOf('ALLOWED')} dst,dst,src -j RETURN`,
      remedy: load('xt_set'),
    },
    {
      what: 'marks from sets',
      table: 'mangle',
      rule: `-j SET --map-set ${nameOf('SHORTCUT')} dst,dst --map-mark`,
      remedy: load('xt_set'),
    },
    {
      what: 'packet marks',
      table: 'nat',
      rule: `-m addrtype --src-type LOCAL ${setMark(settings)}`,
      remedy: load('xt_addrtype xt_mark'),
    },
    {
      what: 'recognition of pods that reach themselves',
      table: 'nat',
      rule: `${isHairpinOffLoopback(family)}-j MASQUERADE`,
      remedy: load('xt_bpf xt_MASQUERADE'),
    },
    {
      what: 'connection states',
      table: 'filter',
      rule: '-p tcp -m conntrack --ctstate NEW -j REJECT --reject-with tcp-reset',
      remedy: load(`xt_conntrack ${reject}`),
    },
  ]
}
