import { isJsonObject, type Json, type JsonObject, stringAt } from '../../lib/json.ts'

const text: Encoder = (value) => [Buffer.from(typeof value === 'string' ? value : '')]

/** Any value, as YAML text. */
const any: Encoder = (value) => [field(2, Buffer.from(`${JSON.stringify(value)}\n`))]

/**
 * A document of version 2 in protobuf, the form that clients in Go read. The numbers are those of `openapi.v2`
 * (github.com/google/gnostic, OpenAPIv2.proto); only those that our documents use are here.
 */
export function encodeV2(document: JsonObject): Buffer {
  return Buffer.concat(documentMessage(document))
}

const schema: Encoder = message(
  () => ({
    $ref: [1, text],
    format: [2, text],
    description: [4, text],
    required: [19, each(text)],
    enum: [20, each(any)],
    additionalProperties: [21, wrapped(1, schema)],
    type: [22, wrapped(1, text)],
    items: [23, wrapped(1, schema)],
    properties: [25, wrapped(1, named(schema))],
  }),
  { extensions: 31 },
)

const bodyParameter = message(() => ({ name: [2, text], in: [3, text], schema: [5, schema] }), {
  flags: { required: 4 },
})

const queryParameter = message(() => ({
  in: [2, text],
  description: [3, text],
  name: [4, text],
  type: [6, text],
}))

const pathParameter = message(() => ({ in: [2, text], name: [4, text], type: [5, text] }), {
  flags: { required: 1 },
})

/** A parameter is encoded as three nested `oneof` messages. */
const parameter: Encoder = (value: Json) => {
  const location = stringAt(value, 'in')
  if (location === 'body') return wrapped(1, wrapped(1, bodyParameter))(value)
  const [number, encode] =
    location === 'path' ? ([4, pathParameter] as const) : ([3, queryParameter] as const)
  return wrapped(1, wrapped(2, wrapped(number, encode)))(value)
}

const response = message(() => ({ description: [1, text], schema: [2, wrapped(1, schema)] }))

const operation = message(
  () => ({
    operationId: [5, text],
    produces: [6, each(text)],
    consumes: [7, each(text)],
    parameters: [8, each(parameter)],
    responses: [9, wrapped(1, named(wrapped(1, response)))],
  }),
  { extensions: 13 },
)

const pathItem = message(() => ({
  get: [2, operation],
  put: [3, operation],
  post: [4, operation],
  delete: [5, operation],
  patch: [8, operation],
  parameters: [9, each(parameter)],
}))

const documentMessage = message(() => ({
  swagger: [1, text],
  info: [2, message(() => ({ title: [1, text], version: [2, text] }))],
  paths: [8, wrapped(2, named(pathItem))],
  definitions: [9, wrapped(1, named(schema))],
}))

/** Writes a JSON value as the payloads of one field of a protobuf message; several when it repeats. */
type Encoder = (value: Json) => readonly Buffer[]

/** The fields of a message by their name in JSON: number on the wire, and how the value is written. */
type MessageShape = Readonly<Record<string, readonly [number: number, encode: Encoder]>>

/** A length-delimited field. These documents need no other wire type except for booleans. */
function field(number: number, payload: Buffer): Buffer {
  return Buffer.concat([varint(number * 8 + 2), varint(payload.length), payload])
}

function varint(value: number): Buffer {
  const bytes: number[] = []
  let rest = value
  for (; rest > 0x7f; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80)
  return Buffer.from([...bytes, rest])
}

/** Every element of a list. */
function each(encode: Encoder): Encoder {
  return (value) => (Array.isArray(value) ? value.flatMap((one) => [...encode(one)]) : [])
}

/** A message with one field, which holds the value. */
function wrapped(number: number, encode: Encoder): Encoder {
  return (value) => [Buffer.concat(encode(value).map((payload) => field(number, payload)))]
}

/** A message `{ name = 1, value = 2 }` for every member of an object. */
function named(encode: Encoder): Encoder {
  return (value) =>
    Object.entries(isJsonObject(value) ? value : {}).map(([name, member]) =>
      Buffer.concat([
        field(1, Buffer.from(name)),
        ...encode(member).map((payload) => field(2, payload)),
      ]),
    )
}

/** A message by its shape; members `x-…` go into the field `extensions`, true booleans into `flags`. */
function message(
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
