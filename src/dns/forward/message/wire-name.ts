const MAX_NAME_BYTES = 255
const MAX_LABEL_BYTES = 63

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
      if (octet > MAX_LABEL_BYTES || bytes > MAX_NAME_BYTES || next > message.length) return
      labels.push(message.subarray(at, next))
      at = next
      if (octet === 0) return { wire: Buffer.concat(labels, bytes), end: end || at }
    }
  }
}

/** The name as bytes of a message, in lower case; undefined when it is not a domain name. */
export function nameToWire(name: string): Buffer | undefined {
  const text = lowerCase(name.endsWith('.') ? name.slice(0, -1) : name)
  const labels = (text === '' ? [] : text.split('.')).map(labelBytes)
  if (labels.some(({ length }) => length === 0 || length > MAX_LABEL_BYTES)) return undefined
  const parts = labels.flatMap((label) => [Buffer.of(label.length), label])
  const wire = Buffer.concat([...parts, Buffer.of(0)])
  return wire.length > MAX_NAME_BYTES ? undefined : wire
}

/** The bytes of a label, in which `\DDD` stands for the byte of that decimal number (RFC 1035 §5.1). */
function labelBytes(label: string): Buffer {
  if (!label.includes('\\')) return Buffer.from(label)
  const text = label.replace(/\\(\d{3})/g, (_, decimal: string) =>
    String.fromCharCode(Number(decimal)),
  )
  return Buffer.from(text, 'latin1')
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
