import { attributeText, findAttribute } from '../netlink/attribute.ts'
import type { NetlinkMessage, OutgoingMessage } from '../netlink/message.ts'
import { NFPROTO } from '../netlink/nfnetlink.ts'
import type { SetHeader, SetType } from './sets.ts'
import {
  ATTR_DATA,
  ATTR_FAMILY,
  ATTR_REVISION,
  ATTR_SETNAME,
  ATTR_TYPENAME,
  answerTo,
  encodeCommand,
  readNumber,
  writeByte,
  writeNumber,
} from './wire.ts'

/** Attributes of a set's data (linux/netfilter/ipset/ip_set.h). */
const TIMEOUT = 6
const FLAGS = 8
const HASHSIZE = 18
const MAXELEM = 19
const ELEMENTS = 24
const REFERENCES = 25
const MEMSIZE = 26
/** enum ipset_cadt_flags. */
const WITH_COUNTERS = 1 << 3
const WITH_SKBINFO = 1 << 6

/** Creates a set, or confirms that it exists with this type. */
export function encodeCreate(name: string, type: SetType, revision: number): OutgoingMessage {
  const flags = (type.counters ? WITH_COUNTERS : 0) | (type.withMark ? WITH_SKBINFO : 0)
  return encodeCommand('create', name, (to) => {
    to.text(ATTR_TYPENAME, type.type)
    writeByte(to, ATTR_REVISION, revision)
    writeByte(to, ATTR_FAMILY, NFPROTO[type.family])
    to.nest(ATTR_DATA, () => {
      writeNumber(to, MAXELEM, type.maxElements)
      if (type.hashSize !== undefined) writeNumber(to, HASHSIZE, type.hashSize)
      if (type.timeout !== undefined) writeNumber(to, TIMEOUT, type.timeout)
      if (flags !== 0) writeNumber(to, FLAGS, flags)
    })
  })
}

/** Name and header of a set in the answer to a listing; undefined when it holds only members. */
export function decodeHeader(message: NetlinkMessage): readonly [string, SetHeader] | undefined {
  const name = answerTo('list', message, ATTR_SETNAME)
  const type = answerTo('list', message, ATTR_TYPENAME)
  const data = answerTo('list', message, ATTR_DATA)
  if (name === undefined || type === undefined || data === undefined) return undefined
  const number = (attribute: number) => readNumber(findAttribute(data, attribute))
  const family = readNumber(answerTo('list', message, ATTR_FAMILY))
  const flags = number(FLAGS) ?? 0
  const header: SetHeader = {
    type: attributeText(type),
    family: family === NFPROTO[4] ? 4 : family === NFPROTO[6] ? 6 : undefined,
    maxElements: number(MAXELEM),
    hashSize: number(HASHSIZE),
    timeout: number(TIMEOUT),
    withMark: (flags & WITH_SKBINFO) !== 0,
    counters: (flags & WITH_COUNTERS) !== 0,
    references: number(REFERENCES) ?? 0,
    entries: number(ELEMENTS) ?? 0,
    memory: number(MEMSIZE) ?? 0,
  }
  return [attributeText(name), header]
}
