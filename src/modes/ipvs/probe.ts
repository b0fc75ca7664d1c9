import type { SetCommand } from '../../kernel/ipset/sets.ts'
import type { Family } from '../../lib/ip.ts'
import type { Missing, Probe } from '../mode.ts'
import type { IpvsDependencies } from './estate.ts'
import { PREFIX, type SetRole, setType } from './names.ts'
import { type Trial, trials } from './probe-rules.ts'
import type { IpvsSettings } from './settings.ts'
import { markPattern } from './shortcut-mark.ts'

const CHAIN = `${PREFIX}PROBE`
/** One of each type. */
const SETS = ['SERVICES', 'VIPS', 'ALLOWED', 'SHORTCUT'] as const satisfies readonly SetRole[]

/**
 * Tries what the mode needs where no packet meets it, and removes it again: a
 * virtual server with the configured scheduler, a set of each type, and each kind
 * of rule. A module list cannot promise what the kernel answers here.
 */
export async function probeIpvs(kernel: IpvsDependencies, settings: IpvsSettings): Promise<Probe> {
  const { backend, version } = kernel.iptables
  const { missing, facts } = await tryIpvs(kernel, settings)
  const rest: Missing[] = []
  for (const family of settings.netfilter.families) {
    rest.push(...(await tryNetfilter(kernel, settings, family)))
  }
  return { missing: [...missing, ...rest], facts: { backend, iptables: version, ...facts } }
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
    return { missing: [lacking('IP virtual servers', error, remedy)], facts: {} }
  }
}

async function tryNetfilter(
  kernel: Pick<IpvsDependencies, 'sets' | 'iptables'>,
  settings: IpvsSettings,
  family: Family,
): Promise<readonly Missing[]> {
  const names = SETS.map((role) => probeSet(family, role))
  const create = SETS.map((role): SetCommand => {
    return { do: 'create', name: probeSet(family, role), type: setType(family, role) }
  })
  try {
    const refusals = await kernel.sets.run(create)
    const missing = refusals.map(({ index, message }): Missing => {
      const { type } = setType(family, SETS[index] ?? 'SERVICES')
      const remedy = `load the kernel module: modprobe ${moduleOf(type)}`
      return { what: `IPv${family} sets of type ${type}: ${message}`, remedy }
    })
    if (missing.length === 0) {
      const nameOf = (role: SetRole) => probeSet(family, role)
      missing.push(...(await tryRules(kernel, trials(settings.netfilter, family, nameOf), family)))
    }
    const refused = new Set(refusals.map(({ index }) => index))
    const made = names.filter((_, index) => !refused.has(index))
    await kernel.sets.run(made.map((name): SetCommand => ({ do: 'destroy', name })))
    return missing
  } catch (error) {
    const remedy = 'load the kernel modules: modprobe -a ip_set xt_set'
    return [lacking(`IPv${family} sets of addresses`, error, remedy)]
  }
}

async function tryRules(
  { iptables }: Pick<IpvsDependencies, 'iptables'>,
  rules: readonly Trial[],
  family: Family,
): Promise<readonly Missing[]> {
  const missing: Missing[] = []
  for (const { what, table, rule, remedy } of rules) {
    const text = `*${table}\n:${CHAIN} - [0:0]\n-A ${CHAIN} ${rule}\n-F ${CHAIN}\n-X ${CHAIN}\nCOMMIT\n`
    const result = await iptables.restore(family, text)
    const cannot = !result.ok && (result.kind === 'refused' || result.kind === 'missing')
    if (cannot) missing.push({ what: `IPv${family} ${what}: ${result.message}`, remedy })
  }
  return missing
}

function probeSet(family: Family, role: SetRole): string {
  return `${PREFIX}PROBE-${family}-${role}`
}

/** `hash:ip,port,net` → `ip_set_hash_ipportnet`. */
function moduleOf(type: string): string {
  return `ip_set_${type.replace(':', '_').replaceAll(',', '')}`
}

function lacking(what: string, error: unknown, remedy: string): Missing {
  const message = error instanceof Error ? error.message : String(error)
  return { what: `${what}: ${message}`, remedy }
}
