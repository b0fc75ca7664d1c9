import type { Family } from '../../lib/ip.ts'
import type { NetlinkMessage, OutgoingMessage } from '../netlink/message.ts'
import type { SetTypeName } from './sets.ts'
import {
  ATTR_FAMILY,
  ATTR_OLDEST,
  ATTR_REVISION,
  ATTR_TYPENAME,
  answerTo,
  encodeCommand,
  NFPROTO,
  readNumber,
  writeByte,
} from './wire.ts'

/**
 * The revision of each set type that brought the last thing we use, the marks
 * (kernel 3.17). What came later (bucket sizes, bit masks) we never ask for, and
 * an `ipset` program that knows no newer revision can list what we made.
 */
export const WANTED: Readonly<Record<SetTypeName, number>> = {
  'hash:ip': 4,
  'hash:ip,port': 5,
  'hash:ip,port,net': 7,
}

/** Asks which revisions of a set type the kernel has; it loads the type's module for that. */
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
