import type { Family } from '../../lib/ip.ts'
import { isMarked } from './mark.ts'
import type { NetfilterSettings } from './settings/settings.ts'

/**
 * Accepts the packets that we have translated, regardless of the FORWARD policy. A packet
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
