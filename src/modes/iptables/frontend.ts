import type { ForwardingEntry, Frontend } from '../../forwarding/entry.ts'
import { cidrContains } from '../../lib/ip.ts'
import { portUnreachable } from '../netfilter/filter-rules.ts'
import { FROM_NODE, fromPods } from '../netfilter/local-traffic.ts'
import { setMark } from '../netfilter/mark.ts'
import { dport, from, to } from '../netfilter/rule.ts'
import type { NetfilterSettings } from '../netfilter/settings/settings.ts'
import { serviceChain } from './names.ts'

/**
 * Matches packets to this frontend. For a node port only the port is matched, because an earlier rule has matched the
 * address.
 */
export function destinationOf(entry: ForwardingEntry, frontend: Frontend): string {
  const address = frontend.ip === 'node' ? '' : to(frontend.ip)
  return address + dport(entry.protocol, frontend.port)
}

/** Whether any packet to this frontend can reach a backend. */
export function isServed(entry: ForwardingEntry, frontend: Frontend): boolean {
  const isShortCircuited = frontend.shortCircuit && entry.pools.cluster.length > 0
  return isShortCircuited || entry.pools[frontend.pool].length > 0
}

/** The nat rules that lead the packets of a frontend to its pool. */
export function natRules(
  entry: ForwardingEntry,
  frontend: Frontend,
  settings: NetfilterSettings,
): readonly string[] {
  if (!isServed(entry, frontend)) return []
  const destination = destinationOf(entry, frontend)
  if (frontend.sourceRanges) return [`${destination}-g ${firewallChain(entry, frontend)}`]
  if (frontend.masquerade === 'onNode') return [`${destination}-g ${externalChain(entry)}`]
  const goto = `${destination}-g ${poolChain(entry, frontend)}`
  if (frontend.masquerade === 'offCluster') return [goto]
  return [destination + setMark(settings), goto]
}

/**
 * The filter rules, which reject or drop packets that no nat rule translated. Source ranges are checked first. The nat
 * and filter tables change one after the other, so a packet to a frontend with backends may also arrive here
 * untranslated. Unless something else answers it (`isAnsweredElsewhere`), it is dropped; when its sender repeats it, it is
 * translated or answered.
 */
export function filterRules(
  entry: ForwardingEntry,
  frontend: Frontend,
  settings: NetfilterSettings,
): readonly string[] {
  const destination = destinationOf(entry, frontend)
  const isEmpty = entry.pools[frontend.pool].length === 0
  const answer = entry.whenEmpty[frontend.pool] === 'reject' ? rejectWith(entry) : '-j DROP'
  if (frontend.sourceRanges === undefined) {
    if (isEmpty) return [destination + answer]
    return isAnsweredElsewhere(frontend, settings) ? [] : [`${destination}-j DROP`]
  }
  const answers = isEmpty
    ? frontend.sourceRanges.map((range) => from(range) + destination + answer)
    : []
  return [...answers, `${destination}-j DROP`]
}

/** Whether something else answers packets that are not translated: a rule for a Service range, or this node itself. */
function isAnsweredElsewhere({ ip }: Frontend, { serviceRanges = [] }: NetfilterSettings): boolean {
  return ip === 'node' || serviceRanges.some((range) => cidrContains(range, ip))
}

/**
 * The rules of the chain that external traffic passes before its pool. Under policy Cluster everything is masqueraded.
 * Under policy Local, packets of pods and of this node take the cluster pool, and only those of this node are
 * masqueraded.
 */
export function externalRules(
  entry: ForwardingEntry,
  frontend: Frontend,
  settings: NetfilterSettings,
): readonly string[] {
  const pool = `-g ${poolChain(entry, frontend)}`
  if (!frontend.shortCircuit) return [setMark(settings), pool]
  const pods = fromPods(settings, entry.family)
  const cluster = `-g ${serviceChain('C', entry.id)}`
  return [
    ...(pods ? [`${pods.source}${pods.interface}${cluster}`] : []),
    FROM_NODE + setMark(settings),
    FROM_NODE + cluster,
    ...(entry.pools[frontend.pool].length > 0 ? [pool] : []),
  ]
}

/** The nat rules for source ranges. Packets of other sources match none, and are dropped in the filter table. */
export function firewallRules(entry: ForwardingEntry, frontend: Frontend): readonly string[] {
  return (frontend.sourceRanges ?? []).map((range) => `${from(range)}-g ${externalChain(entry)}`)
}

/** The name of the chain for external traffic, `NPROXY-E-…`: one for each entry. */
export function externalChain(entry: ForwardingEntry): string {
  return serviceChain('E', entry.id)
}

/** The name of the chain for source ranges, `NPROXY-F-…`: one for each frontend that has them. */
export function firewallChain(entry: ForwardingEntry, frontend: Frontend): string {
  return serviceChain('F', `${entry.id}|${frontend.ip}`)
}

function poolChain(entry: ForwardingEntry, frontend: Frontend): string {
  return serviceChain(frontend.pool === 'cluster' ? 'C' : 'L', entry.id)
}

/** TCP clients get a reset, because firewalls often drop ICMP errors. */
function rejectWith(entry: ForwardingEntry): string {
  if (entry.protocol === 'TCP') return '-j REJECT --reject-with tcp-reset'
  return `-j REJECT --reject-with ${portUnreachable(entry.family)}`
}
