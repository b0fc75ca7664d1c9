import {
  type Cidr,
  cidrContains,
  familyOf,
  type IpAddress,
  parseCidr,
  parseIp,
  prefixLength,
} from '../lib/ip.ts'
import { type JsonObject, parseObjects, textOf } from './host/read-json.ts'

/** Where a route leads. */
export interface NextHop {
  readonly outInterface: string
  readonly gateway: IpAddress | undefined
}

/** A route of `ip route show table all`. */
export interface ListedRoute {
  readonly table: string
  readonly to: Cidr
  readonly type: string
  readonly metric: number
  /** Empty for a type that leads nowhere; several are chosen by a hash of the flow. */
  readonly nextHops: readonly NextHop[]
  readonly source: IpAddress | undefined
  /** Whether it applies only to some sources or types of service. */
  readonly isSelective: boolean
}

/** The routes of `ip -j -FAMILY route show table all`. */
export function listedRoutes(
  listing: readonly JsonObject[],
  family: 4 | 6,
): readonly ListedRoute[] {
  return listing.flatMap((route) => {
    const to = destinationOf(route, family)
    if (to === undefined || isDead(route)) return []
    const metric = route['metric']
    return [
      {
        to,
        table: textOf(route, 'table') ?? 'main',
        type: textOf(route, 'type') ?? 'unicast',
        metric: typeof metric === 'number' ? metric : 0,
        nextHops: nextHopsOf(route),
        source: parseIp(textOf(route, 'prefsrc') ?? ''),
        isSelective: 'from' in route || 'tos' in route,
      },
    ]
  })
}

/** The route that the kernel uses: the one with the longest prefix and, among equal prefixes, the lowest metric. */
export function findRoute(
  routes: readonly ListedRoute[],
  table: string,
  dst: IpAddress,
): ListedRoute | undefined {
  return routes
    .filter((one) => one.table === table && cidrContains(one.to, dst))
    .toSorted(
      (one, other) => prefixLength(other.to) - prefixLength(one.to) || one.metric - other.metric,
    )[0]
}

function destinationOf(route: JsonObject, family: 4 | 6): Cidr | undefined {
  const text = textOf(route, 'dst') ?? 'default'
  if (text === 'default') return parseCidr(family === 4 ? '0.0.0.0/0' : '::/0')
  const to = parseCidr(text.includes('/') ? text : `${text}/${family === 4 ? 32 : 128}`)
  return to !== undefined && familyOf(to) === family ? to : undefined
}

function nextHopsOf(route: JsonObject): readonly NextHop[] {
  const hops = route['nexthops']
  const several = hops === undefined ? [route] : parseObjects(JSON.stringify(hops))
  return several.flatMap((hop) => {
    const outInterface = textOf(hop, 'dev')
    if (outInterface === undefined || isDead(hop)) return []
    return [{ outInterface, gateway: parseIp(textOf(hop, 'gateway') ?? '') }]
  })
}

function isDead(object: JsonObject): boolean {
  const flags: unknown = object['flags']
  return Array.isArray(flags) && flags.includes('dead')
}
