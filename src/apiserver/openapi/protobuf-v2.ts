import { type Json, type JsonObject, stringAt } from '../../lib/json.ts'
import { any, type Encoder, each, message, named, text, wrapped } from './wire.ts'

/**
 * A document of version 2 in protobuf, the form that clients in Go read. The
 * numbers are those of `openapi.v2` (github.com/google/gnostic, OpenAPIv2.proto);
 * only what our documents hold is here.
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

/** A parameter is a choice within a choice within a choice. */
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
