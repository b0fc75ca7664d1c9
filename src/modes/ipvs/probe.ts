import type { Family } from '../../lib/ip.ts'
import type { Missing, Probe } from '../mode.ts'
import { masqueradeFacts } from '../netfilter/postrouting.ts'
import { missingRequirement, type Trials, tryNetfilter } from '../netfilter/trial.ts'
import type { IpvsDependencies } from './managed-state.ts'
import { PREFIX, type SetRole, setType } from './objects/names.ts'
import { markPattern } from './objects/short-circuit-mark.ts'
import { trials } from './probe-rules.ts'
import type { IpvsSettings } from './settings.ts'

const CHAIN = `${PREFIX}PROBE`
/** One of each type. */
const SETS = ['SERVICES', 'VIPS', 'ALLOWED', 'SHORTCUT'] as const satisfies readonly SetRole[]

/**
 * Tries what the mode needs where no packet meets it, and removes it again: a
 * virtual server with the configured scheduler, a set of each type, and each kind
 * of rule. A module list cannot promise what the kernel answers here. What does not work is
 * a value; `facts` go into the log.
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
    ...{ family, chain: CHAIN },
    sets: SETS.map((role) => ({ name: nameOf(role), type: setType(family, role) })),
    rules: trials(netfilter, family, nameOf),
  }
}
