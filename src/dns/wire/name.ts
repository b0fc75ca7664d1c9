import { MAX_LABEL, MAX_NAME } from './numbers.ts'

const PLAIN = /^[a-z0-9_-]*$/
const SPECIAL = /[^a-z0-9_-]/g
const DECIMAL_DIGITS = 3

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

function escaped(character: string): string {
  return `\\${String(character.charCodeAt(0)).padStart(DECIMAL_DIGITS, '0')}`
}

/** The bytes of a plain name: labels without escapes, `''` for the root. */
export function wireName(name: string): Buffer {
  const labels = name === '' ? [] : name.split('.')
  const bytes = labels.map((label) => {
    if (label === '' || label.length > MAX_LABEL) throw new RangeError(`not a name: ${name}`)
    return Buffer.concat([Buffer.of(label.length), Buffer.from(label, 'latin1')])
  })
  const wire = Buffer.concat([...bytes, Buffer.of(0)])
  if (wire.length > MAX_NAME) throw new RangeError(`longer than a name may be: ${name}`)
  return wire
}
