import { constants } from 'node:os'
import { getSystemErrorName } from 'node:util'
import type { Clock } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'
import type { Family } from '../../lib/ip.ts'
import { encodeAttribute, findAttribute, host32 } from '../netlink/attribute.ts'
import {
  ADDRESS_FAMILY,
  familyOfNumber,
  type NetlinkMessage,
  type OutgoingMessage,
} from '../netlink/message.ts'
import { NetlinkSession, type Visit } from '../netlink/session.ts'
import type { OpenTransport } from '../netlink/transport.ts'
import { watchGroups } from '../netlink/watch-groups.ts'
import { type PolicyRoute, type Routes, routeText, ruleText } from './routes.ts'
import {
  decodeRule,
  encodeRuleAdd,
  encodeRuleDelete,
  encodeRuleDump,
  NLM_F_CREATE,
  NLM_F_EXCL,
  OUR_PROTOCOL,
  RTM_DELRULE,
} from './rule-message.ts'

/** Message types, attributes and route types of linux/rtnetlink.h. */
const RTM_NEWROUTE = 24
const RTM_DELROUTE = 25
const RTM_GETROUTE = 26
/** The size of `struct rtmsg` in bytes. */
const HEADER = 12
const RTA_OIF = 4
const RTA_TABLE = 15
const RTN_LOCAL = 2
/** By family: an IPv4 route of type local must have RT_SCOPE_HOST (254). IPv6 has no scopes, so the field is 0. */
const SCOPE = { 4: 254, 6: 0 } as const
/** The interface index of `lo`, the same in every network namespace. */
const LOOPBACK_INDEX = 1

/** Multicast groups RTNLGRP_IPV4_ROUTE, IPV4_RULE, IPV6_ROUTE, IPV6_RULE (linux/rtnetlink.h). */
const GROUPS = [7, 8, 11, 19]
const { EACCES, EAFNOSUPPORT, EEXIST, ENETDOWN, ENOENT, EOPNOTSUPP, EPERM, ESRCH } = constants.errno
/** Errors of a deletion that mean that the rule, the route, or the address family itself does not exist. */
const ABSENT = new Set([ENOENT, ESRCH, EAFNOSUPPORT])

/** Policy routes by rtnetlink. The socket for requests is opened with the first request; each watch opens its own. */
export class NetlinkRoutes implements Routes {
  readonly #open: OpenTransport
  readonly #clock: Clock
  #session: NetlinkSession | undefined
  /** The netlink port of the socket for requests. Notifications of changes that it made contain this port. */
  #port: number | undefined

  constructor(open: OpenTransport, clock: Clock) {
    this.#open = open
    this.#clock = clock
  }

  async ensure(route: PolicyRoute): Promise<readonly string[]> {
    const errors = await this.#connect().batch([encodeRuleAdd(route), encodeRouteAdd(route)])
    for (const [index, errno] of errors) {
      // The index of the message: 0 is the rule, 1 the route.
      const what = index === 0 ? ruleText(route) : routeText(route)
      if (errno !== EEXIST) throw refused(what, errno)
      // EEXIST may also come from another rule or route that is in conflict with this one.
      const isThere = index === 0 ? await this.#hasRule(route) : await this.#hasRoute(route)
      if (!isThere) throw refused(what, errno)
    }
    return [ruleText(route), routeText(route)].filter((_, index) => !errors.has(index))
  }

  async remove(route: PolicyRoute): Promise<void> {
    await this.#delete(encodeRuleDelete(route), ruleText(route))
    const others = await this.#rules(route.family)
    if (others.some(({ table }) => table === route.table)) return
    await this.#delete(encodeRouteDelete(route), routeText(route))
  }

  async holds(route: PolicyRoute): Promise<boolean> {
    return (await this.#hasRule(route)) && (await this.#hasRoute(route))
  }

  async list(): Promise<readonly PolicyRoute[]> {
    const rules = [...(await this.#rules(4)), ...(await this.#rules(6))]
    return rules.map(({ family, mark, mask, table, priority }) => ({
      family,
      mark,
      mask,
      table,
      priority,
    }))
  }

  watch(onChange: () => void): () => void {
    const parts = { open: this.#open, clock: this.#clock }
    const concerns = (message: NetlinkMessage) => this.#isLoss(message)
    return watchGroups(parts, { groups: GROUPS, concerns }, onChange)
  }

  close(): void {
    this.#session?.close()
    this.#session = undefined
  }

  /** Whether another process removed one of our rules, or a local default route of any table, which may be ours. */
  #isLoss(message: NetlinkMessage): boolean {
    if (message.port === this.#port) return false
    if (message.type === RTM_DELRULE) return decodeRule(message)?.isOurs === true
    return message.type === RTM_DELROUTE && decodeLocalDefault(message) !== undefined
  }

  async #hasRule(route: PolicyRoute): Promise<boolean> {
    const rules = await this.#rules(route.family)
    return rules.some((rule) => ruleText(rule) === ruleText(route))
  }

  async #hasRoute({ family, table }: PolicyRoute): Promise<boolean> {
    let found = false
    await this.#dump(encodeRouteDump(family), () => {
      found = false
      return (message) => {
        const route = decodeLocalDefault(message)
        found ||= route?.family === family && route.table === table
      }
    })
    return found
  }

  /** The rules of a family that carry `OUR_PROTOCOL`. A rule that was listed twice is returned once. */
  async #rules(family: Family): Promise<readonly PolicyRoute[]> {
    const rules = new Map<string, PolicyRoute>()
    await this.#dump(encodeRuleDump(family), () => {
      rules.clear()
      return (message) => {
        const rule = decodeRule(message)
        if (rule?.isOurs && rule.family === family) rules.set(ruleText(rule), rule)
      }
    })
    return [...rules.values()]
  }

  async #delete(message: OutgoingMessage, what: string): Promise<void> {
    const errno = (await this.#connect().batch([message])).get(0) ?? 0
    if (errno === 0 || ABSENT.has(errno)) return
    throw refused(what.replace(' add ', ' del '), errno)
  }

  async #dump(message: OutgoingMessage, begin: () => Visit): Promise<void> {
    const errno = await this.#connect().dump(message, begin)
    if (errno !== 0 && errno !== EAFNOSUPPORT)
      throw refused('rules and routes cannot be listed', errno)
  }

  #connect(): NetlinkSession {
    const open: OpenTransport = (handlers) => {
      const transport = this.#open(handlers)
      this.#port = transport.port
      return transport
    }
    this.#session ??= new NetlinkSession(open, this.#clock)
    return this.#session
  }
}

/** The remedy for each errno. */
const HINTS = new Map<number, string>([
  [EPERM, 'run with CAP_NET_ADMIN'],
  [ENETDOWN, 'the loopback interface is down: ip link set lo up'],
  [EACCES, 'IPv6 is switched off on the loopback interface: net.ipv6.conf.lo.disable_ipv6'],
  [EEXIST, 'another rule or default route takes its place: ip rule; ip route show table all'],
  [EOPNOTSUPP, 'the kernel needs CONFIG_IP_MULTIPLE_TABLES for each family'],
  [EAFNOSUPPORT, 'the kernel has no such address family'],
])

function refused(what: string, errno: number): NodeProxyError {
  const hint = HINTS.get(errno)
  const reason = getSystemErrorName(-errno)
  const details = hint === undefined ? {} : { hint }
  return new NodeProxyError('NP_KERNEL_ROUTE', `${what}: ${reason}`, details)
}

/** The route `local default dev lo` of a table. */
interface LocalDefault {
  readonly family: Family
  readonly table: number
  /** Whether it carries `OUR_PROTOCOL`. */
  readonly isOurs: boolean
}

/** Encodes RTM_NEWROUTE, which fails with EEXIST if the route exists. */
export function encodeRouteAdd(where: Pick<LocalDefault, 'family' | 'table'>): OutgoingMessage {
  return encodeRoute(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, where)
}

/**
 * Encodes RTM_DELROUTE. The kernel deletes the route that agrees in all fields, including its protocol
 * (`OUR_PROTOCOL`).
 */
export function encodeRouteDelete(where: Pick<LocalDefault, 'family' | 'table'>): OutgoingMessage {
  return encodeRoute(RTM_DELROUTE, 0, where)
}

/**
 * Encodes RTM_GETROUTE for the routes of all tables. A table in the request would have no effect: the kernel evaluates
 * it only for sockets with strict checking (NETLINK_GET_STRICT_CHK).
 */
export function encodeRouteDump(family: Family): OutgoingMessage {
  const payload = Buffer.alloc(HEADER)
  payload[0] = ADDRESS_FAMILY[family]
  return { type: RTM_GETROUTE, flags: 0, payload }
}

/**
 * The local default route in an answer to a dump, or in the notification of a deleted route. Undefined for all others.
 */
export function decodeLocalDefault({ type, payload }: Pick<NetlinkMessage, 'type' | 'payload'>) {
  if ((type !== RTM_NEWROUTE && type !== RTM_DELROUTE) || payload.length < HEADER) return undefined
  const [number, toLength, fromLength, tos, , protocol, , kind] = payload
  const family = familyOfNumber(number)
  if (family === undefined || kind !== RTN_LOCAL) return undefined
  if (toLength !== 0 || fromLength !== 0 || tos !== 0) return undefined
  const device = findAttribute(payload, RTA_OIF, HEADER)
  const table = findAttribute(payload, RTA_TABLE, HEADER)
  if (device?.length !== 4 || device.readUInt32LE(0) !== LOOPBACK_INDEX) return undefined
  if (table?.length !== 4) return undefined
  const found: LocalDefault = {
    family,
    table: table.readUInt32LE(0),
    isOurs: protocol === OUR_PROTOCOL,
  }
  return found
}

/**
 * Encodes `struct rtmsg` and attributes. The table is in an attribute, because the field of the struct has only 8
 * bits.
 */
function encodeRoute(
  type: number,
  flags: number,
  { family, table }: Pick<LocalDefault, 'family' | 'table'>,
): OutgoingMessage {
  const header = Buffer.alloc(HEADER)
  header[0] = ADDRESS_FAMILY[family]
  header[5] = OUR_PROTOCOL
  header[6] = SCOPE[family]
  header[7] = RTN_LOCAL
  const payload = Buffer.concat([
    header,
    encodeAttribute(RTA_TABLE, host32(table)),
    encodeAttribute(RTA_OIF, host32(LOOPBACK_INDEX)),
  ])
  return { type, flags, payload }
}
