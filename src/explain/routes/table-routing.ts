import { familyOf, type IpAddress } from '../../lib/ip.ts'
import type { HostFacts } from '../packet/host-facts.ts'
import type { RouteAnswer, RouteQuery, Routing } from '../walk/routing.ts'
import { type PolicyRule, policyRules } from './policy-rules.ts'
import type { RouteListings } from './read-routes.ts'
import { findRoute, type ListedRoute, listedRoutes } from './route-tables.ts'

/** Steps through the rules of one query; `goto` only leads forward. */
const MAX_RULES = 100_000

type Facts = Pick<
  HostFacts,
  'addressType' | 'masqueradeAddress' | 'routesLoopback' | 'reversePathFilter'
>

/** What the routes of a host say, as listed earlier. */
interface Tables {
  readonly rules: readonly PolicyRule[]
  readonly routes: readonly ListedRoute[]
}

/**
 * Answers queries of routes from listings, by the rules of the kernel (fib_rules.c, fib_frontend.c, route.c): for a
 * machine that is elsewhere.
 */
export function tableRouting(listings: RouteListings, facts: Facts): Routing {
  const tables = { 4: tablesOf(listings, 4), 6: tablesOf(listings, 6) }
  return {
    route: async (query) => {
      const known = tables[query.family]
      const refused =
        query.family === 6
          ? undefined
          : (refusedSource(facts, query) ?? reversePathFault(known, query, facts))
      if (refused !== undefined) return { kind: 'dropped', reason: refused }
      return answerOf(lookUp(known, query), query, facts)
    },
  }
}

function tablesOf(listings: RouteListings, family: 4 | 6): Tables {
  const { rules, routes } = listings[family]
  return { rules: policyRules(rules), routes: listedRoutes(routes, family) }
}

type Found = ListedRoute | { readonly ends: string } | { readonly unknown: string } | undefined

function lookUp({ rules, routes }: Tables, query: RouteQuery): Found {
  let from = 0
  for (let count = 0; count < MAX_RULES && from < rules.length; count++) {
    const rule = rules[from]!
    const isMatching = rule.matches(query)
    if (isMatching === undefined) return { unknown: `policy rule ${rule.priority}` }
    from++
    if (!isMatching) continue
    const { action } = rule
    if (action.kind === 'goto') {
      const target = rules.findIndex(({ priority }) => priority >= action.priority)
      from = target < from ? rules.length : target
    } else if (action.kind === 'table') {
      const found = findRoute(routes, action.table, query.dst)
      if (found !== undefined && found.type !== 'throw') return found
    } else if (action.type !== 'nop') return { ends: action.type }
  }
  return undefined
}

function answerOf(found: Found, query: RouteQuery, facts: Facts): RouteAnswer {
  if (found === undefined) return noRoute(query)
  if ('unknown' in found) return { kind: 'uncertain', reason: found.unknown }
  if ('ends' in found) return ofType(found.ends, query)
  if (found.isSelective) return { kind: 'uncertain', reason: `the route to ${found.to}` }
  const { type, source, nextHops } = found
  if (type === 'local' || type === 'broadcast' || type === 'anycast') {
    return { kind: 'local', source: source ?? query.dst }
  }
  if (type !== 'unicast') return ofType(type, query)
  const [hop, ...others] = nextHops
  if (hop === undefined) return noRoute(query)
  if (others.length > 0) {
    return { kind: 'uncertain', reason: `${nextHops.length} next hops of the route to ${found.to}` }
  }
  const chosen = source ?? facts.masqueradeAddress(hop.outInterface, hop.gateway ?? query.dst)
  return { kind: 'unicast', ...hop, source: chosen }
}

function noRoute({ inInterface }: RouteQuery): RouteAnswer {
  if (inInterface === undefined) return { kind: 'unreachable', reason: 'no route' }
  const reason = `${inInterface} does not forward, or its route is unreachable`
  return { kind: 'dropped', reason }
}

function ofType(type: string, query: RouteQuery): RouteAnswer {
  if (type === 'blackhole') return { kind: 'dropped', reason: 'a blackhole route' }
  if (type === 'unreachable' || type === 'prohibit') {
    return query.inInterface === undefined
      ? { kind: 'unreachable', reason: `route: ${type}` }
      : noRoute(query)
  }
  return { kind: 'uncertain', reason: `a route of type ${JSON.stringify(type)}` }
}

/** A source or destination that cannot come from outside (martian). */
function refusedSource(facts: Facts, query: RouteQuery): string | undefined {
  const { src, dst, inInterface } = query
  if (inInterface === undefined || src === undefined) return undefined
  const isStrange = (ip: IpAddress) => ip.startsWith('127.') && !facts.routesLoopback(inInterface)
  const isOwn = facts.addressType(src) === 'local' && !src.startsWith('127.')
  if (!isStrange(src) && !isStrange(dst) && !isOwn && facts.addressType(src) !== 'multicast') {
    return undefined
  }
  return `a source or destination that is impossible on ${inInterface} (martian), or a blackhole`
}

/** The kernel looks up the way back with source and destination exchanged, and without the mark. */
function reversePathFault(tables: Tables, query: RouteQuery, facts: Facts): string | undefined {
  const { src, dst, inInterface } = query
  if (inInterface === undefined || src === undefined || familyOf(src) !== 4) return undefined
  const mode = facts.reversePathFilter(inInterface)
  if (mode === 0) return undefined
  const back = lookUp(tables, { ...query, src: dst, dst: src, inInterface: undefined, mark: 0 })
  const hops = back !== undefined && 'nextHops' in back ? back.nextHops : []
  const isGood = hops.some((hop) => mode === 2 || hop.outInterface === inInterface)
  return isGood ? undefined : `rp_filter of ${inInterface}: answers to ${src} leave elsewhere`
}
