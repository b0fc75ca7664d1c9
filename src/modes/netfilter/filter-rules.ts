import { type Family, familyOf } from '../../lib/ip.ts'
import type { BaseJump } from './chains/base-rules.ts'
import { isMarked } from './mark.ts'
import type { NetfilterSettings } from './settings/settings.ts'

const NEW = '-m conntrack --ctstate NEW '

/** The chains of a mode that the built-in ones of the filter table lead to; `forward` absent: it lets nothing through. */
interface FilterChains {
  readonly filter: string
  readonly ranges: string
  readonly martians: string
  readonly forward?: string
}

/**
 * Leads new connections from the built-in chains of the filter table to `filter`, which answers for Services; by way of
 * `ranges` where `serviceRanges` has rules. Then what is forwarded to `forward`, and to `martians` what comes in, where
 * there is a guard. `arriving`: a match of the packets in INPUT that `filter` is for.
 */
export function filterJumps(
  settings: NetfilterSettings,
  family: Family,
  { filter, ranges, martians: guard, forward: onward }: FilterChains,
  arriving = '',
): readonly BaseJump[] {
  const isKnown = serviceRanges(settings, family, { filter }).length > 0
  const passing = `${NEW}-j ${isKnown ? ranges : filter}`
  return [
    ['filter', 'INPUT', `${arriving}${NEW}-j ${filter}`],
    ['filter', 'OUTPUT', passing],
    ['filter', 'FORWARD', passing],
    ...(onward ? [['filter', 'FORWARD', `-j ${onward}`] as const] : []),
    ...(martians(settings, family).length > 0 ? [['filter', 'INPUT', `-j ${guard}`] as const] : []),
  ]
}

/**
 * The answer to new connections into a Service range that nothing translated, in FORWARD and OUTPUT: first what `filter`
 * answers for Services, then the refusal. INPUT does not come here: what a mode has delivered to this node by a
 * policy route keeps the address of its Service there. An address of a range that this node has (a cache of DNS names on a
 * dummy interface) is in use.
 *
 * `unless`: a match of packets that pass. Empty: no range of this family is known.
 */
export function serviceRanges(
  settings: NetfilterSettings,
  family: Family,
  { filter, unless = '' }: { readonly filter: string; readonly unless?: string },
): readonly string[] {
  const ranges = settings.serviceRanges?.filter((cidr) => familyOf(cidr) === family) ?? []
  const passing = `-m conntrack ! --ctstate DNAT -m addrtype ! --dst-type LOCAL ${unless}`
  const refusals = ranges.flatMap((cidr) => [
    `-d ${cidr} -p tcp ${passing}-j REJECT --reject-with tcp-reset`,
    `-d ${cidr} ${passing}-j REJECT --reject-with ${portUnreachable(family)}`,
  ])
  return refusals.length === 0 ? [] : [`-j ${filter}`, ...refusals]
}

/**
 * Lets through what we sent on its way, whatever the FORWARD policy. A packet
 * that conntrack calls invalid would leave un-NATed and make the peer reset the
 * connection (kubernetes/kubernetes#74839), so it is dropped first.
 */
export function forward(settings: NetfilterSettings): readonly string[] {
  return [
    ...(settings.dropInvalid ? ['-m conntrack --ctstate INVALID -j DROP'] : []),
    `${isMarked(settings)}-j ACCEPT`,
    '-m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT',
  ]
}

/**
 * With route_localnet=1 a neighbour could reach services bound to 127.0.0.1
 * (CVE-2020-8558); whatever was not NATed there by us is dropped.
 */
export const DROP_MARTIANS =
  '! -s 127.0.0.0/8 -d 127.0.0.0/8 -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP'

/** The guard of a mode, where it is wanted. */
export function martians(settings: NetfilterSettings, family: Family): readonly string[] {
  return family === 6 || !settings.dropMartians ? [] : [DROP_MARTIANS]
}

/** How iptables names the ICMP answer that a port has no socket. */
export function portUnreachable(family: Family): string {
  return family === 4 ? 'icmp-port-unreachable' : 'icmp6-port-unreachable'
}
