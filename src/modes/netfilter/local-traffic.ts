import { type Cidr, type Family, familyOf } from '../../lib/ip.ts'
import { from, notFrom } from './rule.ts'
import type { NetfilterSettings } from './settings/settings.ts'

/**
 * A match in two pieces, because `iptables-save` prints the source before the
 * destination and the interface after it.
 */
export interface TrafficMatch {
  readonly source: string
  readonly interface: string
}

/** Matches packets whose source is an address of this node. */
export const FROM_NODE = '-m addrtype --src-type LOCAL '

/** Matches packets to an address of this node. */
export const TO_NODE = '-m addrtype --dst-type LOCAL '

/** Matches packets that come from pods; undefined when the settings do not identify pods. */
export function fromPods(settings: NetfilterSettings, family: Family): TrafficMatch | undefined {
  return matchPods(settings, family, false)
}

/**
 * The negation of `fromPods`. Where every source counts as a pod nothing matches,
 * and there is no rule that says so: the nft variant takes no `! -s 0.0.0.0/0`.
 */
export function notFromPods(settings: NetfilterSettings, family: Family): TrafficMatch | undefined {
  return matchPods(settings, family, true)
}

/**
 * The matches of `fromPods` and `notFromPods` for packets to any destination: one of each, which is empty where every
 * packet matches, or none.
 */
export function sources(
  settings: NetfilterSettings,
  family: Family,
): { readonly pods: readonly string[]; readonly others: readonly string[] } {
  const inOnePiece = (match: TrafficMatch | undefined) =>
    match ? [match.source + match.interface] : []
  return {
    pods: inOnePiece(fromPods(settings, family)),
    others: inOnePiece(notFromPods(settings, family)),
  }
}

function matchPods(
  { localTraffic }: NetfilterSettings,
  family: Family,
  negate: boolean,
): TrafficMatch | undefined {
  const not = negate ? '! ' : ''
  switch (localTraffic.by) {
    case 'source': {
      const cidr = localTraffic.cidrs.find((candidate: Cidr) => familyOf(candidate) === family)
      if (cidr === undefined || (negate && cidr.endsWith('/0'))) return undefined
      return { source: negate ? notFrom(cidr) : from(cidr), interface: '' }
    }
    case 'bridge':
      return { source: '', interface: `${not}-i ${localTraffic.name} ` }
    case 'interfacePrefix':
      return { source: '', interface: `${not}-i ${localTraffic.prefix}+ ` }
    case 'none':
      return undefined
  }
}
