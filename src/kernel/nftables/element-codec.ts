import { findAttribute, findText } from '../netlink/attribute.ts'
import type { AttributeWriter } from '../netlink/attribute-writer.ts'
import { align } from '../netlink/message.ts'
import { DATA, ELEMENT, EXPRESSION, INTERVAL_END, LIST_ELEMENT } from './attributes.ts'
import type { Element } from './objects.ts'
import { eachAttribute, readVerdict } from './read-expression.ts'
import { commentOf, elementUserData } from './user-data.ts'
import { writeVerdict } from './write-expression.ts'

/** How the elements of a set are written. */
export interface ElementForm {
  /** Bytes of a key without the padding of its last field; a key of one field is not padded. */
  readonly keyLength: number
  /** Bytes of the data without padding; 0 for a set, and for verdicts. */
  readonly dataLength: number
  /** A range is written as two elements: its first key, and the key after its last one as an end. */
  readonly endsRanges: boolean
}

/** Writes an element, to add, delete or look it up. A range takes two elements if `form.endsRanges`. */
export function writeElement(to: AttributeWriter, element: Element, form: ElementForm): void {
  const { key, keyEnd, data, timeout, comment } = element
  const opened = to.open(LIST_ELEMENT)
  writeKey(to, ELEMENT.key, key.subarray(0, form.keyLength))
  if (keyEnd && !form.endsRanges) writeKey(to, ELEMENT.keyEnd, keyEnd.subarray(0, form.keyLength))
  if (data !== undefined) {
    const nested = to.open(ELEMENT.data)
    if (Buffer.isBuffer(data)) to.bytes(DATA.value, data.subarray(0, form.dataLength))
    else writeVerdict(to, data)
    to.close(nested)
  }
  if (timeout) to.be64(ELEMENT.timeout, BigInt(timeout))
  if (comment !== undefined) to.bytes(ELEMENT.userData, elementUserData(comment))
  to.close(opened)
  if (keyEnd && form.endsRanges) writeRangeEnd(to, keyEnd.subarray(0, form.keyLength))
}

/**
 * Writes the element that ends a range: the first key after it. A range that includes the largest key has no such
 * element.
 */
function writeRangeEnd(to: AttributeWriter, last: Buffer): void {
  const next = Buffer.from(last)
  let at = next.length - 1
  while (at >= 0 && next[at] === 0xff) next[at--] = 0
  if (at < 0) return
  next[at] = (next[at] ?? 0) + 1
  to.nest(LIST_ELEMENT, () => {
    to.be32(ELEMENT.flags, INTERVAL_END)
    writeKey(to, ELEMENT.key, next)
  })
}

function writeKey(to: AttributeWriter, type: number, key: Buffer): void {
  const opened = to.open(type)
  to.bytes(DATA.value, key)
  to.close(opened)
}

/** An element as it is in a message. */
export interface ReadElement {
  readonly element: Element
  /** Whether it only ends the range before it: its key is the first one after the range. */
  readonly endsRange: boolean
}

/** Reads the elements of a message, in their order. Keys and data are copies, padded to a multiple of 4 bytes. */
export function readElements(list: Buffer, visit: (read: ReadElement) => void): void {
  eachAttribute(list, (type, value) => {
    if (type !== LIST_ELEMENT) return
    const read = readElement(value)
    if (read) visit(read)
  })
}

function readElement(attributes: Buffer): ReadElement | undefined {
  let key: Buffer | undefined
  let keyEnd: Buffer | undefined
  let data: Element['data']
  let timeout = 0
  let expires: number | undefined
  let comment: string | undefined
  let counter: Element['counter']
  let endsRange = false
  eachAttribute(attributes, (type, value) => {
    switch (type) {
      case ELEMENT.key:
        key = padded(findAttribute(value, DATA.value))
        break
      case ELEMENT.keyEnd:
        keyEnd = padded(findAttribute(value, DATA.value))
        break
      case ELEMENT.data:
        data = readData(value)
        break
      case ELEMENT.timeout:
        timeout = be64(value)
        break
      case ELEMENT.expires:
        expires = be64(value)
        break
      case ELEMENT.userData:
        comment = commentOf(value)
        break
      case ELEMENT.expression:
        counter = readCounter(value)
        break
      case ELEMENT.flags:
        endsRange = value.length === 4 && (value.readUInt32BE(0) & INTERVAL_END) !== 0
        break
      default:
    }
  })
  if (key === undefined) return undefined
  const element: Element = {
    key,
    ...(keyEnd && { keyEnd }),
    ...(data === undefined ? {} : { data }),
    ...(timeout > 0 ? { timeout } : {}),
    ...(expires === undefined ? {} : { expires }),
    ...(comment === undefined ? {} : { comment }),
    ...(counter && { counter }),
  }
  return { element, endsRange }
}

function readData(value: Buffer): Element['data'] {
  const bytes = padded(findAttribute(value, DATA.value))
  if (bytes) return bytes
  const verdict = findAttribute(value, DATA.verdict)
  return verdict && readVerdict(verdict)
}

/** Reads a counter; undefined for any other expression. The numbers 1 and 2 are of enum nft_counter_attributes. */
export function readCounter(expression: Buffer): Element['counter'] {
  const data = findAttribute(expression, EXPRESSION.data)
  if (findText(expression, EXPRESSION.name) !== 'counter' || !data) return undefined
  const [bytes, packets] = [findAttribute(data, 1), findAttribute(data, 2)]
  if (bytes?.length !== 8 || packets?.length !== 8) return undefined
  return { bytes: bytes.readBigUInt64BE(0), packets: packets.readBigUInt64BE(0) }
}

function padded(value: Buffer | undefined): Buffer | undefined {
  if (value === undefined) return undefined
  const bytes = Buffer.alloc(align(value.length))
  value.copy(bytes)
  return bytes
}

function be64(value: Buffer): number {
  return value.length === 8 ? Number(value.readBigUInt64BE(0)) : 0
}
