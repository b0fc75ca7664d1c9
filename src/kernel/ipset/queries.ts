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

/** IPSET_CMD_LIST: the names of all sets. */
export const NAMES_DUMP: OutgoingMessage = encodeCommand('list', undefined, (to) => {
  writeNumber(to, ATTR_FLAGS, LIST_SETNAME)
})

/** IPSET_CMD_LIST: the headers of all sets, without members. */
export const HEADERS_DUMP: OutgoingMessage = encodeCommand('list', undefined, (to) => {
  writeNumber(to, ATTR_FLAGS, LIST_HEADER)
})

/** Header and members of one set, in as many messages as they need. */
export function encodeMembersDump(name: string): OutgoingMessage {
  return encodeCommand('list', name)
}

/** The name of the set in an answer to IPSET_CMD_LIST. */
export function decodeName(message: NetlinkMessage): string | undefined {
  const name = answerTo('list', message, ATTR_SETNAME)
  return name && attributeText(name)
}

/** IPSET_CMD_PROTOCOL: the versions of the protocol that the kernel has. */
export const PROTOCOL_QUESTION: OutgoingMessage = encodeCommand('protocol', undefined)

/** The newest and the oldest version of the protocol that the kernel has. */
export interface ProtocolVersion {
  readonly newest: number
  readonly oldest: number
}

/** The answer to `PROTOCOL_QUESTION`; undefined for any other message. */
export function decodeProtocol(message: NetlinkMessage): ProtocolVersion | undefined {
  const newest = readNumber(answerTo('protocol', message, ATTR_PROTOCOL))
  if (newest === undefined) return undefined
  return { newest, oldest: readNumber(answerTo('protocol', message, ATTR_OLDEST)) ?? newest }
}

/**
 * The revision of each set type to create sets with: the one that added marks (kernel 3.17), the newest
 * feature that is used here. Later ones (bucket sizes, bit masks) are not used, and an `ipset` program that
 * knows no newer revision can list the sets.
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

/** The revision to create sets with, of those between the newest and the oldest in the kernel's answer. */
export function decodeRevision(message: NetlinkMessage, type: SetTypeName): number | undefined {
  const newest = readNumber(answerTo('type', message, ATTR_REVISION))
  if (newest === undefined) return undefined
  const oldest = readNumber(answerTo('type', message, ATTR_OLDEST)) ?? newest
  return Math.max(Math.min(WANTED[type], newest), oldest)
}
