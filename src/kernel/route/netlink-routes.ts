import { constants } from 'node:os'
import { getSystemErrorName } from 'node:util'
import type { Clock } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'
import type { Family } from '../../lib/ip.ts'
import { encodeAttribute, findAttribute, host32 } from '../netlink/attribute.ts'
import {
  ADDRESS_FAMILY,
  decodeMessages,
  familyOfNumber,
  type NetlinkMessage,
  type OutgoingMessage,
} from '../netlink/message.ts'
import { NetlinkSession } from '../netlink/session.ts'
import type { OpenTransport } from '../netlink/transport.ts'
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

/** linux/rtnetlink.h. */
const RTM_NEWROUTE = 24
const RTM_DELROUTE = 25
const RTM_GETROUTE = 26
const HEADER = 12
const RTA_OIF = 4
const RTA_TABLE = 15
const RTN_LOCAL = 2
/** IPv4 has local routes in no wider scope; IPv6 has no scopes. */
const SCOPE = { 4: 254, 6: 0 } as const
/** Every network namespace's `lo` has this index. */
const LOOPBACK = 1

/** RTNLGRP_IPV4_ROUTE, IPV4_RULE, IPV6_ROUTE, IPV6_RULE (linux/rtnetlink.h). */
const GROUPS = [7, 8, 11, 19]
/** A flush removes rules and routes one by one. */
const SETTLE_MS = 100
const { EACCES, EAFNOSUPPORT, EEXIST, ENETDOWN, ENOENT, EOPNOTSUPP, EPERM, ESRCH } = constants.errno
/** The rule, the route or the address family does not exist in this kernel. */
const ABSENT = new Set([ENOENT, ESRCH, EAFNOSUPPORT])

/** Policy routes by rtnetlink. The socket is opened with the first request. */
export class NetlinkRoutes implements Routes {
  readonly #open: OpenTransport
  readonly #clock: Clock
  #session: NetlinkSession | undefined
  /** The port of our own changes. */
  #port: number | undefined

  constructor(open: OpenTransport, clock: Clock) {
    this.#open = open
    this.#clock = clock
  }

  async ensure(route: PolicyRoute): Promise<readonly string[]> {
    const errors = await this.#connect().batch([encodeRuleAdd(route), encodeRouteAdd(route)])
    for (const [place, errno] of errors) {
      const what = place === 0 ? ruleText(route) : routeText(route)
      if (errno !== EEXIST) throw refused(what, errno)
      const isThere = place === 0 ? await this.#hasRule(route) : await this.#hasRoute(route)
      if (!isThere) throw refused(what, errno)
    }
    return [ruleText(route), routeText(route)].filter((_, place) => !errors.has(place))
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
    let cancel: (() => void) | undefined
    const soon = () => {
      cancel ??= this.#clock.after(SETTLE_MS, () => {
        cancel = undefined
        onChange()
      })
    }
    const transport = this.#open({
      onDatagram: (bytes) => {
        for (const message of decodeMessages(bytes)) if (this.#isLoss(message)) soon()
      },
      onOverrun: soon,
    })
    for (const group of GROUPS) transport.join(group)
    return () => {
      cancel?.()
      transport.close()
    }
  }

  close(): void {
    this.#session?.close()
    this.#session = undefined
  }

  /** Whether another process removed what may be ours. */
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
    await this.#dump(encodeRouteDump(family), (message) => {
      const route = decodeLocalDefault(message)
      found ||= route?.family === family && route.table === table
    })
    return found
  }

  /** Our rules of a family; a rule that was listed twice is returned once. */
  async #rules(family: Family): Promise<readonly PolicyRoute[]> {
    const rules = new Map<string, PolicyRoute>()
    await this.#dump(encodeRuleDump(family), (message) => {
      const rule = decodeRule(message)
      if (rule?.isOurs && rule.family === family) rules.set(ruleText(rule), rule)
    })
    return [...rules.values()]
  }

  async #delete(message: OutgoingMessage, what: string): Promise<void> {
    const errno = (await this.#connect().batch([message])).get(0) ?? 0
    if (errno === 0 || ABSENT.has(errno)) return
    throw refused(what.replace(' add ', ' del '), errno)
  }

  async #dump(message: OutgoingMessage, visit: (message: NetlinkMessage) => void): Promise<void> {
    const errno = await this.#connect().dump(message, visit)
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

/** `local default dev lo` of a table. */
interface LocalDefault {
  readonly family: Family
  readonly table: number
  readonly isOurs: boolean
}

/** RTM_NEWROUTE: EEXIST if the route exists. */
export function encodeRouteAdd(where: Pick<LocalDefault, 'family' | 'table'>): OutgoingMessage {
  return encodeRoute(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, where)
}

/** The kernel deletes the route that agrees in all fields, including its origin. */
export function encodeRouteDelete(where: Pick<LocalDefault, 'family' | 'table'>): OutgoingMessage {
  return encodeRoute(RTM_DELROUTE, 0, where)
}

/** Lists all tables: the kernel evaluates a table in the request only for sockets with strict checking. */
export function encodeRouteDump(family: Family): OutgoingMessage {
  const payload = Buffer.alloc(HEADER)
  payload[0] = ADDRESS_FAMILY[family]
  return { type: RTM_GETROUTE, flags: 0, payload }
}

/** The local default route in an answer to a dump, or in the notification of a deleted route. */
export function decodeLocalDefault({ type, payload }: Pick<NetlinkMessage, 'type' | 'payload'>) {
  if ((type !== RTM_NEWROUTE && type !== RTM_DELROUTE) || payload.length < HEADER) return undefined
  const [number, toLength, fromLength, tos, , protocol, , kind] = payload
  const family = familyOfNumber(number)
  if (family === undefined || kind !== RTN_LOCAL) return undefined
  if (toLength !== 0 || fromLength !== 0 || tos !== 0) return undefined
  const device = findAttribute(payload, RTA_OIF, HEADER)
  const table = findAttribute(payload, RTA_TABLE, HEADER)
  if (device?.length !== 4 || device.readUInt32LE(0) !== LOOPBACK) return undefined
  if (table?.length !== 4) return undefined
  const found: LocalDefault = {
    family,
    table: table.readUInt32LE(0),
    isOurs: protocol === OUR_PROTOCOL,
  }
  return found
}

/** `struct rtmsg`; the table is in an attribute of 32 bits. */
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
    encodeAttribute(RTA_OIF, host32(LOOPBACK)),
  ])
  return { type, flags, payload }
}
