import { type Family, familyOf } from '../../lib/ip.ts'
import type { JumpObject } from './chains/object.ts'
import type { NetfilterSettings } from './settings/settings.ts'

const NEW = '-m conntrack --ctstate NEW '

/**
 * The answer in FORWARD and OUTPUT to new connections into a Service range that nothing translated: first what
 * `filter` answers for Services, then the refusal. INPUT is left out: packets that a mode has delivered to this node
 * by a policy route keep the address of their Service there. An address of a range that this node has (a cache of DNS
 * names on a dummy interface) is in use and not refused.
 *
 * `unless`: a match for packets that pass. Returns no rules if no range of this family is known.
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
 * Leads new connections from the built-in chains of the filter table to `filter`, which answers for Services; through
 * `ranges` if `serviceRanges` has rules.
 */
export function answeringJumps(
  settings: NetfilterSettings,
  family: Family,
  { filter, ranges }: { readonly filter: string; readonly ranges: string },
): readonly Pick<JumpObject, 'chain' | 'rule'>[] {
  const isKnown = serviceRanges(settings, family, { filter }).length > 0
  const passing = `${NEW}-j ${isKnown ? ranges : filter}`
  return [
    { chain: 'INPUT', rule: `${NEW}-j ${filter}` },
    { chain: 'OUTPUT', rule: passing },
    { chain: 'FORWARD', rule: passing },
  ]
}

/** The name in iptables of the ICMP error "port unreachable". */
export function portUnreachable(family: Family): string {
  return family === 4 ? 'icmp-port-unreachable' : 'icmp6-port-unreachable'
}
