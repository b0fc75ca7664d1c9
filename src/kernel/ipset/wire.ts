import { findAttribute } from '../netlink/attribute.ts'
import { AttributeWriter } from '../netlink/attribute-writer.ts'
import type { NetlinkMessage, OutgoingMessage } from '../netlink/message.ts'
import { NFGENMSG, nfHeader, nfMessageType } from '../netlink/nfnetlink.ts'

/** Every kernel from 2.6.39 on accepts this version; version 7 only adds set indexes to answers. */
export const PROTOCOL = 6

/** enum ipset_cmd (linux/netfilter/ipset/ip_set.h). */
const COMMAND = {
  protocol: 1,
  create: 2,
  destroy: 3,
  flush: 4,
  list: 7,
  add: 9,
  delete: 10,
  type: 13,
} as const
type CommandName = keyof typeof COMMAND

/** Attributes at command level. */
export const ATTR_PROTOCOL = 1
export const ATTR_SETNAME = 2
export const ATTR_TYPENAME = 3
export const ATTR_REVISION = 4
export const ATTR_FAMILY = 5
export const ATTR_FLAGS = 6
export const ATTR_DATA = 7
export const ATTR_ADT = 8
/** IPSET_ATTR_PROTOCOL_MIN, IPSET_ATTR_REVISION_MIN. */
export const ATTR_MIN = 10

/** NLA_F_NET_BYTEORDER: without this flag the kernel refuses numbers and addresses of ipset. */
export const NETWORK_ORDER = 0x4000

/** ipset ignores this netfilter family and looks only at the family in its own attributes. */
const HEADER = nfHeader(4)

/** A command for the set `name`, or for all sets if it is undefined; `write` adds its attributes. */
export function encodeCommand(
  command: CommandName,
  name: string | undefined,
  write: (attributes: AttributeWriter) => void = () => undefined,
): OutgoingMessage {
  const attributes = new AttributeWriter().header(...HEADER)
  writeByte(attributes, ATTR_PROTOCOL, PROTOCOL)
  if (name !== undefined) attributes.text(ATTR_SETNAME, name)
  write(attributes)
  return { type: nfMessageType('ipset', COMMAND[command]), flags: 0, payload: attributes.written() }
}

/** The value of an attribute at command level in an answer to `command`. */
export function answerTo(
  command: CommandName,
  message: Pick<NetlinkMessage, 'type' | 'payload'>,
  attribute: number,
): Buffer | undefined {
  if (message.type !== nfMessageType('ipset', COMMAND[command])) return undefined
  if (message.payload.length < NFGENMSG) return undefined
  return findAttribute(message.payload, attribute, NFGENMSG)
}

/** Writes an attribute of one byte. */
export function writeByte(to: AttributeWriter, type: number, value: number): void {
  to.bytes(type, Uint8Array.of(value))
}

/** Writes an attribute of 32 bits in network byte order. */
export function writeNumber(to: AttributeWriter, type: number, value: number): void {
  to.bytes(type | NETWORK_ORDER, Uint8Array.of(value >>> 24, value >>> 16, value >>> 8, value))
}

/** A number of 1, 2 or 4 bytes in network order, or undefined. */
export function readNumber(value: Buffer | undefined): number | undefined {
  if (value?.length === 4) return value.readUInt32BE(0)
  if (value?.length === 2) return value.readUInt16BE(0)
  return value?.length === 1 ? value[0] : undefined
}
