import { isRaw, type Raw, type Reader } from '../../../resources/reader.ts'

const KEY = /^[-._a-zA-Z0-9]{1,253}$/
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/
const MAX_BYTES = 1 << 20
const KEY_FAULT = 'must be a key: at most 253 of A-Z, a-z, 0-9, -, _ and ., not starting with ..'
const FAULTS = { text: 'must be a string', base64: 'must be base64' } as const

/** The encoding of the values of a data map. */
type Form = keyof typeof FAULTS

/** Checks a map from keys to values. Values may be secret and are never shown. @returns the size in bytes */
export function checkData(object: Reader, key: string, form: Form): number {
  if (!isReadable(object, key)) {
    object.withhold(key, 'must be a map of strings')
    return 0
  }
  const data = object.map(key)
  let bytes = 0
  for (const name of data.keys()) {
    const size = sizeOf(data.value(name), form)
    if (!isDataKey(name)) object.findings.add(object.path(key), name, KEY_FAULT)
    else if (size === undefined) data.withhold(name, FAULTS[form])
    else bytes += size
  }
  return bytes
}

/**
 * Whether the value at `key` is a map or absent. Any other value must not be read, because its message would
 * show it.
 */
export function isReadable(object: Reader, key: string): boolean {
  const value = object.value(key)
  return value === undefined || isRaw(value)
}

export function checkDataSize(object: Reader, bytes: number): void {
  if (bytes > MAX_BYTES) object.withhold('data', `must not hold more than ${MAX_BYTES} bytes`)
}

function isDataKey(name: string): boolean {
  return KEY.test(name) && name !== '.' && !name.startsWith('..')
}

function sizeOf(value: unknown, form: Form): number | undefined {
  if (typeof value !== 'string') return undefined
  if (form === 'text') return Buffer.byteLength(value)
  return isBase64(value) ? Buffer.byteLength(value, 'base64') : undefined
}

/** Whether a text without line breaks is base64 as clients in Go read it: padded, in the standard alphabet. */
export function isBase64(text: string): boolean {
  return text.length % 4 === 0 && BASE64.test(text)
}

/** Removes the line breaks that base64 may contain. */
export function joinBase64Lines(data: Raw): Raw {
  const joined = Object.entries(data).map(
    ([key, value]) =>
      [key, typeof value === 'string' ? value.replaceAll(/[\r\n]/g, '') : value] as const,
  )
  return Object.fromEntries(joined)
}
