import type { NetlinkMessage, OutgoingMessage } from '../netlink/message.ts'
import { ATTR_OLDEST, ATTR_PROTOCOL, answerTo, encodeCommand, readNumber } from './wire.ts'

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
