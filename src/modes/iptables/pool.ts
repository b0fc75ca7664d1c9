import type { Backend, ForwardingEntry, Pool } from '../../forwarding/entry.ts'
import { hostPort, type IpAddress } from '../../lib/ip.ts'
import { notFromPods } from '../netfilter/local-traffic.ts'
import { setMark } from '../netfilter/mark.ts'
import { to } from '../netfilter/rule.ts'
import type { NetfilterSettings } from '../netfilter/settings/settings.ts'
import { stickyRules } from './affinity.ts'

/**
 * The chain of one pool: masquerade for ClusterIP clients outside the cluster,
 * then one DNAT rule per backend, each taken with equal probability.
 */
export function poolRules(
  entry: ForwardingEntry,
  pool: Pool,
  settings: NetfilterSettings,
): readonly string[] {
  const backends = entry.pools[pool]
  const protocol = `-p ${entry.protocol.toLowerCase()} `
  const chance = (index: number) => randomChance(backends.length - index)
  const dnat = (backend: Backend) =>
    `-j DNAT --to-destination ${hostPort(backend.ip, backend.port)}`
  const sticky = entry.affinity ? stickyRules(entry, backends, { chance, dnat }) : []
  return [
    ...clusterIpMarks(entry, pool, settings),
    ...(settings.hairpin === 'rules' ? hairpinMarks(backends, settings) : []),
    ...sticky,
    ...(entry.affinity
      ? backends.slice(-1).map((backend) => protocol + dnat(backend))
      : backends.map((backend, index) => protocol + chance(index) + dnat(backend))),
  ]
}

/** The kernel keeps 31 bits of the probability; this prints the value that it keeps. */
function randomChance(remaining: number): string {
  if (remaining <= 1) return ''
  const probability = (Math.round(2 ** 31 / remaining) / 2 ** 31).toFixed(11)
  return `-m statistic --mode random --probability ${probability} `
}

function clusterIpMarks(
  entry: ForwardingEntry,
  pool: Pool,
  settings: NetfilterSettings,
): readonly string[] {
  const match = settings.masqueradeAll
    ? { source: '', interface: '' }
    : notFromPods(settings, entry.family)
  if (match === undefined) return []
  return entry.frontends
    .filter((frontend) => frontend.masquerade === 'offCluster' && frontend.pool === pool)
    .map(
      (frontend) =>
        match.source + to(frontend.ip as IpAddress) + match.interface + setMark(settings),
    )
}

/** For kernels without xt_bpf: one rule for each backend, in case it connects to itself. */
function hairpinMarks(
  backends: readonly Backend[],
  settings: NetfilterSettings,
): readonly string[] {
  return backends.map((backend) => `-s ${to(backend.ip).slice(3)}${setMark(settings)}`)
}
