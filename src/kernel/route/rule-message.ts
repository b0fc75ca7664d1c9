import type { Family } from '../../lib/ip.ts'
import { encodeAttribute, findAttribute, host32 } from '../netlink/attribute.ts'
import {
  ADDRESS_FAMILY,
  familyOfNumber,
  type NetlinkMessage,
  type OutgoingMessage,
} from '../netlink/message.ts'
import type { PolicyRoute } from './routes.ts'

/** linux/netlink.h: create the object; refuse with EEXIST if it exists. */
export const NLM_F_EXCL = 0x200
export const NLM_F_CREATE = 0x400

/**
 * The origin (`proto 110` in `ip rule` and `ip route`) of the rules and routes that this project creates. The kernel's
 * own numbers are below 5, and /etc/iproute2/rt_protos assigns 110 to no program.
 */
export const OUR_PROTOCOL = 110

/** linux/rtnetlink.h, linux/fib_rules.h. */
const RTM_NEWRULE = 32
export const RTM_DELRULE = 33
const RTM_GETRULE = 34
const HEADER = 12
const FR_ACT_TO_TBL = 1
const FRA_PRIORITY = 6
const FRA_FWMARK = 10
const FRA_SUPPRESS_PREFIXLEN = 14
const FRA_TABLE = 15
const FRA_FWMASK = 16
const FRA_PROTOCOL = 21
const NO_SUPPRESSION = 0xffff_ffff
/** Flags that change the meaning of a rule: FIB_RULE_INVERT (0x2), and FIB_RULE_UNRESOLVED (0x4): its goto leads nowhere. */
const MEANINGFUL_FLAGS = 0x2 | 0x4
/** Attributes of what a rule may have besides a mark (FRA_…): a rule with one of these is a different rule. */
const OTHER_ATTRIBUTES = {
  destination: 1,
  source: 2,
  inInterface: 3,
  goto: 4,
  realm: 11,
  tunnel: 12,
  suppressedGroup: 13,
  outInterface: 17,
  l3mdev: 19,
  uidRange: 20,
  protocol: 22,
  sourcePorts: 23,
  destinationPorts: 24,
  dscp: 25,
  flowLabel: 26,
  flowLabelMask: 27,
  sourcePortMask: 28,
  destinationPortMask: 29,
  dscpMask: 30,
}
/** Offsets in `struct fib_rule_hdr`; `table` is not used, because an attribute of 32 bits holds the table. */
const AT = { family: 0, destinationLength: 1, sourceLength: 2, tos: 3, action: 7, flags: 8 }

/** A rule that matches a mark and nothing else. */
export interface MarkRule extends PolicyRoute {
  readonly isOurs: boolean
}

/** RTM_NEWRULE: EEXIST if the rule exists. */
export function encodeRuleAdd(route: PolicyRoute): OutgoingMessage {
  return encodeRule(RTM_NEWRULE, NLM_F_CREATE | NLM_F_EXCL, route)
}

/** The kernel deletes the rule that agrees in all fields, including its origin. */
export function encodeRuleDelete(route: PolicyRoute): OutgoingMessage {
  return encodeRule(RTM_DELRULE, 0, route)
}

/** RTM_GETRULE: all rules of a family. */
export function encodeRuleDump(family: Family): OutgoingMessage {
  return { type: RTM_GETRULE, flags: 0, payload: header(family, 0) }
}

/**
 * The rule in an answer to a dump, or in the notification of a deleted rule. Undefined for other messages, and for a rule
 * that has another condition than a mark, or does something else than look up a table.
 */
export function decodeRule({
  type,
  payload,
}: Pick<NetlinkMessage, 'type' | 'payload'>): MarkRule | undefined {
  if ((type !== RTM_NEWRULE && type !== RTM_DELRULE) || payload.length < HEADER) return undefined
  const family = familyOfNumber(payload[AT.family])
  const number = (attribute: number) => {
    const value = findAttribute(payload, attribute, HEADER)
    return value?.length === 4 ? value.readUInt32LE(0) : undefined
  }
  const isPlain =
    payload[AT.destinationLength] === 0 &&
    payload[AT.sourceLength] === 0 &&
    payload[AT.tos] === 0 &&
    payload[AT.action] === FR_ACT_TO_TBL &&
    (payload.readUInt32LE(AT.flags) & MEANINGFUL_FLAGS) === 0 &&
    (number(FRA_SUPPRESS_PREFIXLEN) ?? NO_SUPPRESSION) === NO_SUPPRESSION &&
    Object.values(OTHER_ATTRIBUTES).every(
      (attribute) => findAttribute(payload, attribute, HEADER) === undefined,
    )
  const [mark, mask, table] = [number(FRA_FWMARK), number(FRA_FWMASK), number(FRA_TABLE)]
  if (!isPlain || family === undefined) return undefined
  if (mark === undefined || mask === undefined || table === undefined) return undefined
  const isOurs = findAttribute(payload, FRA_PROTOCOL, HEADER)?.[0] === OUR_PROTOCOL
  return { family, mark, mask, table, priority: number(FRA_PRIORITY) ?? 0, isOurs }
}

function encodeRule(
  type: number,
  flags: number,
  { family, mark, mask, table, priority }: PolicyRoute,
): OutgoingMessage {
  const payload = Buffer.concat([
    header(family, FR_ACT_TO_TBL),
    encodeAttribute(FRA_PRIORITY, host32(priority)),
    encodeAttribute(FRA_FWMARK, host32(mark)),
    encodeAttribute(FRA_FWMASK, host32(mask)),
    encodeAttribute(FRA_TABLE, host32(table)),
    encodeAttribute(FRA_PROTOCOL, Buffer.from([OUR_PROTOCOL])),
  ])
  return { type, flags, payload }
}

/** `struct fib_rule_hdr` without any condition. */
function header(family: Family, action: number): Buffer {
  const bytes = Buffer.alloc(HEADER)
  bytes[AT.family] = ADDRESS_FAMILY[family]
  bytes[AT.action] = action
  return bytes
}
