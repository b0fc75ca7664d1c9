import { type Cidr, familyOf } from '../../../lib/ip.ts'
import { hostWord, network, PROTOCOL_NUMBER, type Protocol } from './encode.ts'
import {
  addressType,
  bits,
  CONNECTION_DIRECTION,
  CONNECTION_STATE,
  CONNECTION_STATUS,
  destinationAddress,
  PROTOCOL,
  sourceAddress,
  TCP_FLAGS,
} from './fields.ts'
import { compare, type Statement } from './statements.ts'

type Is = 'equal' | 'different'

/** Bits of linux/netfilter/nf_conntrack_common.h. */
export const STATE = { invalid: 1, established: 2, related: 4, new: 8 } as const
const TRANSLATED = 0x20

/** RTN_LOCAL of linux/rtnetlink.h. */
const LOCAL = 2

/** The destination is an address of this node. */
export const TO_NODE = compare(addressType('daddr'), 'equal', hostWord(LOCAL))

export const NOT_TO_NODE = compare(addressType('daddr'), 'different', hostWord(LOCAL))

/** The source is an address of this node. */
export const FROM_NODE = compare(addressType('saddr'), 'equal', hostWord(LOCAL))

/** The destination of the connection was translated, by whichever rules. */
export const IS_TRANSLATED = compare(
  bits(CONNECTION_STATUS, hostWord(TRANSLATED)),
  'different',
  hostWord(0),
)

export const IS_NOT_TRANSLATED = compare(
  bits(CONNECTION_STATUS, hostWord(TRANSLATED)),
  'equal',
  hostWord(0),
)

/** The packet comes from the side that opened the connection. */
export const IS_ORIGINAL = compare(CONNECTION_DIRECTION, 'equal', Buffer.from([0]))

/** The packet goes to the side that opened the connection. */
export const IS_REPLY = compare(CONNECTION_DIRECTION, 'equal', Buffer.from([1]))

export function hasState(state: number): Statement {
  return compare(bits(CONNECTION_STATE, hostWord(state)), 'different', hostWord(0))
}

export function hasNotState(state: number): Statement {
  return compare(bits(CONNECTION_STATE, hostWord(state)), 'equal', hostWord(0))
}

export function isProtocol(protocol: Protocol): Statement {
  return compare(PROTOCOL, 'equal', Buffer.from([PROTOCOL_NUMBER[protocol]]))
}

/** FIN, SYN, RST and ACK. */
const FLAGS_OF_BEGIN = Buffer.from([0x17])
const SYN = Buffer.from([0x02])

/**
 * A TCP packet that begins a tracked connection without being its first one: the connection tracking knows nothing of
 * the connection, or no longer.
 */
export const IS_MIDDLE_OF_TCP: Statement = [
  ...hasState(STATE.new),
  ...isProtocol('TCP'),
  ...compare(bits(TCP_FLAGS, FLAGS_OF_BEGIN), 'different', SYN),
]

export function from(cidr: Cidr, is: Is = 'equal'): Statement {
  return inNetwork(sourceAddress, cidr, is)
}

export function to(cidr: Cidr, is: Is = 'equal'): Statement {
  return inNetwork(destinationAddress, cidr, is)
}

/** A prefix of whole bytes is compared directly, without a mask. */
function inNetwork(address: typeof sourceAddress, cidr: Cidr, is: Is): Statement {
  const { first, mask, prefix } = network(cidr)
  const family = familyOf(cidr)
  const isWholeBytes = prefix % 8 === 0 && prefix > 0
  if (!isWholeBytes) return compare(bits(address(family), mask), is, first)
  return compare(address(family, prefix / 8), is, first.subarray(0, prefix / 8))
}
