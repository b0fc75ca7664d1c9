import {
  type Cidr,
  cidrContains,
  type Family,
  familyOf,
  type IpAddress,
  parseCidr,
  parseIp,
  prefixLength,
} from '../lib/ip.ts'
import { type JsonObject, parseObjects, type RunCommand, textOf } from './host/run-command.ts'
import type { HostFacts } from './packet/host-facts.ts'
import { PROTOCOL_NUMBER } from './packet/packet-state.ts'
import type { DeadEnd, RouteAnswer, RouteQuery, Routing } from './walk/routing.ts'

/** Policy rules and routes of both families. */
export type RouteListings = Readonly<Record<Family, RouteListing>>

/** Maximum number of steps through the rules of one query; `goto` can only lead forward. */
const MAX_RULES = 100_000

type Facts = Pick<
  HostFacts,
  'addressType' | 'masqueradeAddress' | 'routesLoopback' | 'reversePathFilter'
>

/** The rules and routes of a host, as listed earlier. */
interface Tables {
  readonly rules: readonly PolicyRule[]
  readonly routes: readonly ListedRoute[]
}

/**
 * Answers route queries from listings, with the algorithm of the kernel (fib_rules.c, fib_frontend.c, route.c). This
 * works for another machine, too.
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

type Found =
  | ListedRoute
  | { readonly ends: string; readonly priority: number }
  | { readonly unknown: string }
  | undefined

/** A dead end with its effect on packets: unreachable, prohibit or blackhole. */
export interface TypedDeadEnd extends DeadEnd {
  readonly type: string
}

/**
 * The route or policy rule that leads a query nowhere; undefined if there is no such route or rule, or if this is
 * uncertain.
 */
export function deadEndOf(listings: RouteListings, query: RouteQuery): TypedDeadEnd | undefined {
  return deadEnd(lookUp(tablesOf(listings, query.family), query))
}

function deadEnd(found: Found): TypedDeadEnd | undefined {
  if (found === undefined || 'unknown' in found) return undefined
  if ('ends' in found) {
    return { where: 'policy rule', object: `priority ${found.priority}`, type: found.ends }
  }
  const { type, to, table, isSelective } = found
  if (isSelective || !NOWHERE.has(type)) return undefined
  const place = table === 'main' ? '' : ` table ${table}`
  return { where: 'route', object: `${type} ${to}${place}`, type }
}

const NOWHERE: ReadonlySet<string> = new Set(['unreachable', 'prohibit', 'blackhole'])

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
    } else if (action.type !== 'nop') return { ends: action.type, priority: rule.priority }
  }
  return undefined
}

function answerOf(found: Found, query: RouteQuery, facts: Facts): RouteAnswer {
  if (found === undefined) return NO_ROUTE
  if ('unknown' in found) return { kind: 'uncertain', reason: found.unknown }
  if ('ends' in found) return answerOfType(found.ends, query.family, deadEnd(found))
  if (found.isSelective) return { kind: 'uncertain', reason: `the route to ${found.to}` }
  const { type, source, nextHops } = found
  if (type === 'local' || type === 'broadcast' || type === 'anycast') {
    return { kind: 'local', source: source ?? query.dst }
  }
  if (type !== 'unicast') return answerOfType(type, query.family, deadEnd(found))
  const [hop, ...others] = nextHops
  if (hop === undefined) return NO_ROUTE
  if (others.length > 0) {
    return { kind: 'uncertain', reason: `${nextHops.length} next hops of the route to ${found.to}` }
  }
  const chosen = source ?? facts.masqueradeAddress(hop.outInterface, hop.gateway ?? query.dst)
  return { kind: 'unicast', ...hop, source: chosen }
}

export const NO_ROUTE: RouteAnswer = { kind: 'unreachable', how: 'no-route', reason: 'no route' }

/**
 * The answer for a route that leads nowhere. For `unreachable`, IPv6 routes and policy rules give the same error as
 * without a route.
 */
export function answerOfType(type: string, family: Family, by?: TypedDeadEnd): RouteAnswer {
  const named = by && { deadEnd: { where: by.where, object: by.object } }
  const reason = by === undefined ? `a route of type ${type}` : routeText(by)
  if (type === 'blackhole') return { kind: 'dropped', reason, ...named }
  if (type === 'prohibit') return { kind: 'unreachable', how: 'prohibited', reason, ...named }
  if (type !== 'unreachable') {
    return { kind: 'uncertain', reason: `a route of type ${JSON.stringify(type)}` }
  }
  const how = family === 4 && by?.where !== 'policy rule' ? 'host-unreachable' : 'no-route'
  return { kind: 'unreachable', how, reason, ...named }
}

function routeText({ where, object, type }: TypedDeadEnd): string {
  return where === 'route' ? `the route ${object}` : `the ${where} of ${object} (${type})`
}

/** Why a source or destination cannot come from outside (martian); undefined if it can. */
function refusedSource(facts: Facts, query: RouteQuery): string | undefined {
  const { src, dst, inInterface } = query
  if (inInterface === undefined || src === undefined) return undefined
  const isStrange = (ip: IpAddress) => ip.startsWith('127.') && !facts.routesLoopback(inInterface)
  const isOwn = facts.addressType(src) === 'local' && !src.startsWith('127.')
  if (!isStrange(src) && !isStrange(dst) && !isOwn && facts.addressType(src) !== 'multicast') {
    return undefined
  }
  return `a source or destination that is impossible on ${inInterface} (martian)`
}

/** The kernel looks up the reverse path with source and destination exchanged, and without the mark. */
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

/** `ip -j rule show` and `ip -j route show table all` of one address family. */
interface RouteListing {
  readonly rules: readonly JsonObject[]
  readonly routes: readonly JsonObject[]
}

/** Reads policy rules and all routes; empty for a family that the kernel does not have. */
export async function readRoutes(run: RunCommand): Promise<RouteListings> {
  return { 4: await readFamily(run, 4), 6: await readFamily(run, 6) }
}

async function readFamily(run: RunCommand, family: Family): Promise<RouteListing> {
  const list = async (...words: readonly string[]) => {
    const { status, stdout } = await run('ip', ['-j', `-${family}`, ...words])
    return status === 0 ? parseObjects(stdout) : []
  }
  const rules = await list('rule', 'show')
  return { rules, routes: await list('route', 'show', 'table', 'all') }
}

/** What a rule does with a query that it matches. */
type RuleAction =
  | { readonly kind: 'table'; readonly table: string }
  | { readonly kind: 'goto'; readonly priority: number }
  | { readonly kind: 'end'; readonly type: string }

/** A rule of `ip rule`. */
interface PolicyRule {
  readonly priority: number
  readonly action: RuleAction
  /** Undefined if this depends on something that a query does not contain. */
  matches(query: RouteQuery): boolean | undefined
}

/** Fields that select no packets. */
const NEUTRAL = new Set([
  'priority',
  'protocol',
  'not',
  'srclen',
  'dstlen',
  'fwmask',
  'iif_detached',
  'oif_detached',
  'table',
  'action',
  'nop',
  'goto',
  'unresolved',
])

/** Rules of `ip -j rule show` in the order in which the kernel tries them. */
function policyRules(listing: readonly JsonObject[]): readonly PolicyRule[] {
  return listing
    .map((rule) => ({
      priority: numberOf(rule, 'priority') ?? 0,
      action: actionOf(rule),
      matches: (query: RouteQuery) => matches(rule, query),
    }))
    .toSorted((one, other) => one.priority - other.priority)
}

function actionOf(rule: JsonObject): RuleAction {
  const target = numberOf(rule, 'goto')
  if (target !== undefined) return { kind: 'goto', priority: target }
  const table = textOf(rule, 'table')
  if (table !== undefined) return { kind: 'table', table }
  return { kind: 'end', type: textOf(rule, 'action') ?? 'nop' }
}

function matches(rule: JsonObject, query: RouteQuery): boolean | undefined {
  const answers = Object.keys(rule)
    .filter((field) => !NEUTRAL.has(field))
    .map((field) => SELECTORS[field]?.(rule, query))
  if (answers.includes(false)) return 'not' in rule
  if (answers.includes(undefined)) return undefined
  return !('not' in rule)
}

type Selector = (rule: JsonObject, query: RouteQuery) => boolean | undefined

/** The conditions of a rule by their fields; a field that is missing here is unknown. */
const SELECTORS: Readonly<Record<string, Selector>> = {
  src: (rule, { src }) => contains(networkOf(rule, 'src'), src),
  dst: (rule, { dst }) => contains(networkOf(rule, 'dst'), dst),
  fwmark: (rule, { mark }) => {
    const [value, mask] = [Number(rule['fwmark']), Number(rule['fwmask'] ?? 0xffffffff)]
    return (mark & mask) >>> 0 === value
  },
  // In the kernel, packets that this node sends count as coming from lo.
  iif: (rule, { inInterface = 'lo' }) => textOf(rule, 'iif') === inInterface,
  oif: () => false,
  // Without /etc/protocols, as in the images, `ip` writes `ipproto-6`.
  ipproto: (rule, { protocol }) => {
    if (protocol === undefined) return false
    const names = [protocol.toLowerCase(), `ipproto-${PROTOCOL_NUMBER[protocol]}`]
    return names.includes(textOf(rule, 'ipproto') ?? '')
  },
  dport: (rule, { dstPort }) => numberOf(rule, 'dport') === dstPort,
  dport_start: (rule, { dstPort }) => (numberOf(rule, 'dport_start') ?? 0) <= dstPort,
  dport_end: (rule, { dstPort }) => (numberOf(rule, 'dport_end') ?? 65_535) >= dstPort,
}

/** Undefined means every address. */
function networkOf(rule: JsonObject, field: 'src' | 'dst'): Cidr | undefined {
  const text = textOf(rule, field) ?? 'all'
  if (text === 'all') return undefined
  const bits = numberOf(rule, `${field}len`) ?? (text.includes(':') ? 128 : 32)
  return parseCidr(`${text}/${bits}`)
}

function contains(network: Cidr | undefined, ip: IpAddress | undefined): boolean {
  if (network === undefined) return true
  return ip !== undefined && familyOf(ip) === familyOf(network) && cidrContains(network, ip)
}

function numberOf(object: JsonObject, field: string): number | undefined {
  const value = object[field]
  return typeof value === 'number' ? value : undefined
}

/** Where a route leads. */
interface NextHop {
  readonly outInterface: string
  readonly gateway: IpAddress | undefined
}

/** A route of `ip route show table all`. */
interface ListedRoute {
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
function listedRoutes(listing: readonly JsonObject[], family: 4 | 6): readonly ListedRoute[] {
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
function findRoute(
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
