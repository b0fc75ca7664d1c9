import type { ForwardingEntry, Frontend } from '../../forwarding/entry.ts'
import { cidrContains } from '../../lib/ip.ts'
import { portUnreachable } from '../netfilter/filter-rules.ts'
import { FROM_NODE, fromPods } from '../netfilter/local-traffic.ts'
import { setMark } from '../netfilter/mark.ts'
import { dport, from, to } from '../netfilter/rule.ts'
import type { NetfilterSettings } from '../netfilter/settings/settings.ts'
import { serviceChain } from './names.ts'

/** Matches packets to this frontend; the address of a node port has been matched before. */
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
 * The filter rules, which answer packets that no nat rule translated. Source ranges decide first. The tables of a
 * change take effect one after the other, so a packet to a frontend with backends may also arrive here untranslated:
 * it is dropped, and is translated or answered when its sender repeats it.
 */
export function filterRules(
  entry: ForwardingEntry,
  frontend: Frontend,
  settings: NetfilterSettings,
): readonly string[] {
  const destination = destinationOf(entry, frontend)
  const empty = entry.pools[frontend.pool].length === 0
  const answer = entry.whenEmpty[frontend.pool] === 'reject' ? rejectWith(entry) : '-j DROP'
  if (frontend.sourceRanges === undefined) {
    if (empty) return [destination + answer]
    return isHeldElsewhere(frontend, settings) ? [] : [`${destination}-j DROP`]
  }
  const allowed = empty
    ? frontend.sourceRanges.map((range) => from(range) + destination + answer)
    : []
  return [...allowed, `${destination}-j DROP`]
}

/** Whether the rule of a Service range, or this node itself, answers packets that are not translated. */
function isHeldElsewhere({ ip }: Frontend, { serviceRanges = [] }: NetfilterSettings): boolean {
  return ip === 'node' || serviceRanges.some((range) => cidrContains(range, ip))
}

/**
 * The chain that external traffic meets before the pool. Under policy Local, pods and the
 * node itself take the cluster pool, and only the node's packets are masqueraded.
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

/** Sources outside the ranges fall through, to be dropped in the filter table. */
export function firewallRules(entry: ForwardingEntry, frontend: Frontend): readonly string[] {
  return (frontend.sourceRanges ?? []).map((range) => `${from(range)}-g ${externalChain(entry)}`)
}

/** `NPROXY-E-…`, one for each entry. */
export function externalChain(entry: ForwardingEntry): string {
  return serviceChain('E', entry.id)
}

/** `NPROXY-F-…`, one for each frontend with source ranges. */
export function firewallChain(entry: ForwardingEntry, frontend: Frontend): string {
  return serviceChain('F', `${entry.id}|${frontend.ip}`)
}

function poolChain(entry: ForwardingEntry, frontend: Frontend): string {
  return serviceChain(frontend.pool === 'cluster' ? 'C' : 'L', entry.id)
}

/** TCP clients get a reset: unlike an ICMP error, it is not ignored by firewalls. */
function rejectWith(entry: ForwardingEntry): string {
  if (entry.protocol === 'TCP') return '-j REJECT --reject-with tcp-reset'
  return `-j REJECT --reject-with ${portUnreachable(entry.family)}`
}
