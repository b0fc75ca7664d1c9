import { MAX_LABEL, MAX_NAME } from './numbers.ts'

const PLAIN = /^[a-z0-9_-]*$/
const SPECIAL = /[^a-z0-9_-]/g
const DECIMAL_DIGITS = 3

/** A domain name as it was read out of a message. */
export interface ReadName {
  /** The name without compression: labels with their length octets, then the empty label. */
  readonly wire: Buffer
  /** The offset of the first byte behind the name. */
  readonly end: number
}

/**
 * The name at `start` of a message, with compression pointers followed (RFC 1035 §4.1.4); undefined when it is
 * malformed. A pointer must point before the part of the name that contains it, so reading always ends.
 */
export function readName(message: Buffer, start: number): ReadName | undefined {
  const labels: Buffer[] = []
  let [at, segment, end, bytes] = [start, start, 0, 0]
  for (;;) {
    const octet = message[at]
    if (octet === undefined) return undefined
    if (octet >= 0xc0) {
      const target = ((octet & 0x3f) << 8) | (message[at + 1] ?? 0xffff)
      if (target >= segment) return undefined
      end ||= at + 2
      segment = target
      at = target
    } else {
      const next = at + 1 + octet
      bytes += 1 + octet
      if (octet > MAX_LABEL || bytes > MAX_NAME || next > message.length) return
      labels.push(message.subarray(at, next))
      at = next
      if (octet === 0) return { wire: Buffer.concat(labels, bytes), end: end || at }
    }
  }
}

/** The name as bytes of a message, in lower case; undefined when it is not a domain name. */
export function nameToWire(name: string): Buffer | undefined {
  const text = plainName(name)
  const labels = (text === '' ? [] : text.split('.')).map(labelBytes)
  if (labels.some(({ length }) => length === 0 || length > MAX_LABEL)) return undefined
  const parts = labels.flatMap((label) => [Buffer.of(label.length), label])
  const wire = Buffer.concat([...parts, Buffer.of(0)])
  return wire.length > MAX_NAME ? undefined : wire
}

/** The same for what is known to be a domain name. @throws RangeError */
export function wireName(name: string): Buffer {
  const wire = nameToWire(name)
  if (wire === undefined) throw new RangeError(`not a domain name: ${name}`)
  return wire
}

/**
 * The text of a name in wire format (see `Query.key`), without the final dot. Bytes other than letters,
 * digits, `-` and `_` are written as `\DDD` (RFC 1035 §5.1), so no dot of the text is inside a label.
 */
export function nameOfKey(key: string): string {
  let text = ''
  for (let at = 0; at < key.length - 1; ) {
    const end = at + 1 + key.charCodeAt(at)
    const label = key.slice(at + 1, end)
    text += `${at === 0 ? '' : '.'}${PLAIN.test(label) ? label : label.replace(SPECIAL, escaped)}`
    at = end
  }
  return text
}

/**
 * Text by which names on the wire compare: equal for names that differ in the case of ASCII letters alone
 * (RFC 4343). No length octet is a letter.
 */
export function comparable(wire: Buffer): string {
  return lowerCase(wire.toString('latin1'))
}

/** ASCII letters in lower case; all else as it is, unlike `toLowerCase`. */
export function lowerCase(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
}

/** The text of a name in lower case, without the final dot; '' is the root. */
export function plainName(name: string): string {
  return lowerCase(name.endsWith('.') ? name.slice(0, -1) : name)
}

/** The bytes of a label, in which `\DDD` stands for the byte of that decimal number (RFC 1035 §5.1). */
function labelBytes(label: string): Buffer {
  if (!label.includes('\\')) return Buffer.from(label)
  const text = label.replace(/\\(\d{3})/g, (_, decimal: string) =>
    String.fromCharCode(Number(decimal)),
  )
  return Buffer.from(text, 'latin1')
}

function escaped(character: string): string {
  return `\\${String(character.charCodeAt(0)).padStart(DECIMAL_DIGITS, '0')}`
}
