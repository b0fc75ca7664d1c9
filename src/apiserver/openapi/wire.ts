import type { Json, JsonObject } from '../../lib/json.ts'
import { isJsonObject } from '../../lib/json.ts'

/** Writes a JSON value as the payloads of one field of a protobuf message; several when it repeats. */
export type Encoder = (value: Json) => readonly Buffer[]

/** The fields of a message by their name in JSON: number on the wire, and how the value is written. */
export type MessageShape = Readonly<Record<string, readonly [number: number, encode: Encoder]>>

/** A field whose payload has a length: all that these documents need but for booleans. */
function field(number: number, payload: Buffer): Buffer {
  return Buffer.concat([varint(number * 8 + 2), varint(payload.length), payload])
}

function varint(value: number): Buffer {
  const bytes: number[] = []
  let rest = value
  for (; rest > 0x7f; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80)
  return Buffer.from([...bytes, rest])
}

export const text: Encoder = (value) => [Buffer.from(typeof value === 'string' ? value : '')]

/** Every element of a list. */
export function each(encode: Encoder): Encoder {
  return (value) => (Array.isArray(value) ? value.flatMap((one) => [...encode(one)]) : [])
}

/** A message with one field, which holds the value. */
export function wrapped(number: number, encode: Encoder): Encoder {
  return (value) => [Buffer.concat(encode(value).map((payload) => field(number, payload)))]
}

/** A message `{ name = 1, value = 2 }` for every member of an object. */
export function named(encode: Encoder): Encoder {
  return (value) =>
    Object.entries(isJsonObject(value) ? value : {}).map(([name, member]) =>
      Buffer.concat([
        field(1, Buffer.from(name)),
        ...encode(member).map((payload) => field(2, payload)),
      ]),
    )
}

/** Any value, as the YAML text that it is. */
export const any: Encoder = (value) => [field(2, Buffer.from(`${JSON.stringify(value)}\n`))]

/** A message by its shape; members `x-…` go into the field `extensions`, true booleans into `flags`. */
export function message(
  shape: () => MessageShape,
  {
    extensions,
    flags = {},
  }: { extensions?: number; flags?: Readonly<Record<string, number>> } = {},
): Encoder {
  return (value) => {
    const object = isJsonObject(value) ? value : {}
    const known = Object.entries(shape()).flatMap(([name, [number, encode]]) =>
      Object.hasOwn(object, name) ? encode(object[name]!).map((one) => field(number, one)) : [],
    )
    const set = Object.entries(flags)
      .filter(([name]) => object[name] === true)
      .map(([, number]) => Buffer.concat([varint(number * 8), varint(1)]))
    const more =
      extensions === undefined
        ? []
        : named(any)(extensionsOf(object)).map((one) => field(extensions, one))
    return [Buffer.concat([...known, ...set, ...more])]
  }
}

function extensionsOf(object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([name]) => name.startsWith('x-')))
}
