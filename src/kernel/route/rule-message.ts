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
/** Flags that change the meaning of a rule: FIB_RULE_INVERT (0x2), FIB_RULE_UNRESOLVED (0x4). */
const MEANINGFUL_FLAGS = 0x2 | 0x4
/** All other conditions that a rule may have: a rule with one of these is a different rule. */
const CONDITIONS = [1, 2, 3, 4, 11, 12, 13, 17, 19, 20, 22, 23, 24]

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

/** The rule in an answer to a dump, or in the notification of a deleted rule. */
export function decodeRule({ type, payload }: Pick<NetlinkMessage, 'type' | 'payload'>) {
  if ((type !== RTM_NEWRULE && type !== RTM_DELRULE) || payload.length < HEADER) return undefined
  const family = familyOfNumber(payload[0])
  const number = (attribute: number) => {
    const value = findAttribute(payload, attribute, HEADER)
    return value?.length === 4 ? value.readUInt32LE(0) : undefined
  }
  const isPlain =
    payload[1] === 0 &&
    payload[2] === 0 &&
    payload[3] === 0 &&
    payload[7] === FR_ACT_TO_TBL &&
    (payload.readUInt32LE(8) & MEANINGFUL_FLAGS) === 0 &&
    (number(FRA_SUPPRESS_PREFIXLEN) ?? NO_SUPPRESSION) === NO_SUPPRESSION &&
    CONDITIONS.every((attribute) => findAttribute(payload, attribute, HEADER) === undefined)
  const [mark, mask, table] = [number(FRA_FWMARK), number(FRA_FWMASK), number(FRA_TABLE)]
  if (!isPlain || family === undefined) return undefined
  if (mark === undefined || mask === undefined || table === undefined) return undefined
  const isOurs = findAttribute(payload, FRA_PROTOCOL, HEADER)?.[0] === OUR_PROTOCOL
  const rule: MarkRule = { family, mark, mask, table, priority: number(FRA_PRIORITY) ?? 0, isOurs }
  return rule
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

/** `struct fib_rule_hdr`; the table is in an attribute of 32 bits. */
function header(family: Family, action: number): Buffer {
  const bytes = Buffer.alloc(HEADER)
  bytes[0] = ADDRESS_FAMILY[family]
  bytes[7] = action
  return bytes
}
