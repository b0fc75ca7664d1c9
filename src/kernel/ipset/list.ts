import { attributeText } from '../netlink/attribute.ts'
import type { NetlinkMessage, OutgoingMessage } from '../netlink/message.ts'
import { ATTR_FLAGS, ATTR_SETNAME, answerTo, encodeCommand, writeNumber } from './wire.ts'

/** enum ipset_cmd_flags: how much of each set a listing tells. */
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
