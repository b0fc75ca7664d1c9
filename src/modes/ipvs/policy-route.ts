import type { PolicyRoute } from '../../kernel/route/routes.ts'
import type { Family } from '../../lib/ip.ts'
import { routingBit } from '../netfilter/mark.ts'
import type { NetfilterSettings } from '../netfilter/settings.ts'

/** A table of our own, with nothing in it but the one route. */
const TABLE = 28_272
/** Before the rules of network plugins; only packets that we marked ourselves are concerned. */
const PRIORITY = 7

/**
 * Delivers what is marked as going to a virtual server to this node, whatever its
 * destination. One rule and one route for any number of Services: their addresses
 * become no addresses of the node, so nothing else answers there.
 */
export function policyRoute(
  settings: Pick<NetfilterSettings, 'masqueradeBit'>,
  family: Family,
): PolicyRoute {
  const bit = routingBit(settings)
  return { family, mark: bit, mask: bit, table: TABLE, priority: PRIORITY }
}
