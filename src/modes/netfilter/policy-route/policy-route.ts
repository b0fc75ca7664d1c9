import type { PolicyRoute } from '../../../kernel/route/routes.ts'
import type { Family } from '../../../lib/ip.ts'
import { routingBit } from '../mark.ts'
import type { NetfilterSettings } from '../settings/settings.ts'

/**
 * Tables of our own, with nothing in them but the one route. Each mode has its own, so that the
 * one that leaves takes nothing away from the one that comes.
 */
export const ROUTE_TABLES = { ipvs: 28_272, userspace: 28_273 } as const
export type RouteTable = (typeof ROUTE_TABLES)[keyof typeof ROUTE_TABLES]

/** Before the rules of network plugins; only packets that we marked ourselves are concerned. */
const PRIORITY = 7

/**
 * Delivers what is marked as going to a Service to this node, whatever its
 * destination. One rule and one route for any number of Services: their addresses
 * become no addresses of the node, so nothing else answers there.
 */
export function policyRoute(
  settings: Pick<NetfilterSettings, 'masqueradeBit'>,
  family: Family,
  table: RouteTable,
): PolicyRoute {
  const bit = routingBit(settings)
  return { family, mark: bit, mask: bit, table, priority: PRIORITY }
}
