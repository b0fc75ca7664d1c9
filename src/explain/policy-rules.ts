import { type Cidr, cidrContains, familyOf, type IpAddress, parseCidr } from '../lib/ip.ts'
import { type JsonObject, textOf } from './host/read-json.ts'
import type { RouteQuery } from './walk/routing.ts'

/** What a rule does with a query that it matches. */
export type RuleAction =
  | { readonly kind: 'table'; readonly table: string }
  | { readonly kind: 'goto'; readonly priority: number }
  | { readonly kind: 'end'; readonly type: string }

/** A rule of `ip rule`. */
export interface PolicyRule {
  readonly priority: number
  readonly action: RuleAction
  /** Undefined if this depends on something that a query does not contain. */
  matches(query: RouteQuery): boolean | undefined
}

/** Fields that select no packets. */
const NEUTRAL = new Set(['priority', 'not', 'table', 'action', 'goto', 'protocol', 'srclen'])
const MORE_NEUTRAL = new Set(['dstlen', 'fwmask', 'iif_detached', 'oif_detached'])

/** Rules of `ip -j rule show` in the order in which the kernel tries them. */
export function policyRules(listing: readonly JsonObject[]): readonly PolicyRule[] {
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
    .filter((field) => !NEUTRAL.has(field) && !MORE_NEUTRAL.has(field))
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
  ipproto: (rule, { protocol }) => textOf(rule, 'ipproto') === protocol.toLowerCase(),
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
