import type { Family } from '../../lib/ip.ts'
import { attributeText } from '../netlink/attribute.ts'
import type { NetlinkMessage, OutgoingMessage } from '../netlink/message.ts'
import { NFPROTO } from '../netlink/nfnetlink.ts'
import type { SetTypeName } from './sets.ts'
import {
  ATTR_FAMILY,
  ATTR_FLAGS,
  ATTR_OLDEST,
  ATTR_PROTOCOL,
  ATTR_REVISION,
  ATTR_SETNAME,
  ATTR_TYPENAME,
  answerTo,
  encodeCommand,
  readNumber,
  writeByte,
  writeNumber,
} from './wire.ts'

/** enum ipset_cmd_flags: how much of each set a listing contains. */
const LIST_SETNAME = 1 << 1
const LIST_HEADER = 1 << 2

export const NAMES_DUMP: OutgoingMessage = encodeCommand('list', undefined, (to) => {
  writeNumber(to, ATTR_FLAGS, LIST_SETNAME)
})

export const HEADERS_DUMP: OutgoingMessage = encodeCommand('list', undefined, (to) => {
  writeNumber(to, ATTR_FLAGS, LIST_HEADER)
})

/** Header and members of one set, in as many messages as they need. */
export function encodeMembersDump(name: string): OutgoingMessage {
  return encodeCommand('list', name)
}

export function decodeName(message: NetlinkMessage): string | undefined {
  const name = answerTo('list', message, ATTR_SETNAME)
  return name && attributeText(name)
}

export const PROTOCOL_QUESTION: OutgoingMessage = encodeCommand('protocol', undefined)

export interface ProtocolVersion {
  readonly newest: number
  readonly oldest: number
}

export function decodeProtocol(message: NetlinkMessage): ProtocolVersion | undefined {
  const newest = readNumber(answerTo('protocol', message, ATTR_PROTOCOL))
  if (newest === undefined) return undefined
  return { newest, oldest: readNumber(answerTo('protocol', message, ATTR_OLDEST)) ?? newest }
}

/**
 * The revision of each set type that brought the last thing we use, the marks
 * (kernel 3.17). What came later (bucket sizes, bit masks) we never request, and
 * an `ipset` program that knows no newer revision can list what we made.
 */
export const WANTED: Readonly<Record<SetTypeName, number>> = {
  'hash:ip': 4,
  'hash:ip,port': 5,
  'hash:ip,port,net': 7,
}

/** Requests the revisions of a set type that the kernel has; it loads the type's module for that. */
export function encodeRevisionQuestion(type: SetTypeName, family: Family): OutgoingMessage {
  return encodeCommand('type', undefined, (to) => {
    to.text(ATTR_TYPENAME, type)
    writeByte(to, ATTR_FAMILY, NFPROTO[family])
  })
}

/** The revision to make sets with, of those in an answer; the kernel names newest and oldest. */
export function decodeRevision(message: NetlinkMessage, type: SetTypeName): number | undefined {
  const newest = readNumber(answerTo('type', message, ATTR_REVISION))
  if (newest === undefined) return undefined
  const oldest = readNumber(answerTo('type', message, ATTR_OLDEST)) ?? newest
  return Math.max(Math.min(WANTED[type], newest), oldest)
}
