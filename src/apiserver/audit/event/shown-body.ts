import { isJsonObject, type Json, type JsonObject, without } from '../../../lib/json.ts'
import { parseMediaType, YAML } from '../../encoding/media-type.ts'
import { parseJson } from '../../encoding/parse-json.ts'
import { parseYaml } from '../../encoding/parse-yaml.ts'
import { decodeProtobuf, type ExpectedType, PROTOBUF } from '../../protobuf/decode-protobuf.ts'
import { StatusError } from '../../status/status.ts'
import { holdsWithheld } from './withheld.ts'

/** As much as a stored object may have, so that no stored object evades the log by its size. */
export const MAX_BODY_BYTES = 1_572_864
const MAX_DEPTH = 500

export interface Body {
  readonly bytes: Buffer
  /** The Content-Type header; empty: JSON. */
  readonly contentType: string
  /** What a protobuf body holds that does not say so. */
  readonly expected: ExpectedType
}

/** `cut`: there is a document, but it is too large to be shown. */
export type ShownBody = { readonly document: Json } | 'cut' | undefined

/**
 * The document of a body as an event shows it. Undefined: there is none, it cannot be read, or it
 * holds what is never shown.
 */
export function shownBody(body: Body, omitManagedFields: boolean): ShownBody {
  const { bytes } = body
  if (bytes.length === 0) return undefined
  if (bytes.length > MAX_BODY_BYTES) return 'cut'
  const document = parse(body)
  if (document instanceof StatusError || holdsWithheld(document)) return undefined
  return { document: omitManagedFields ? withoutManagedFields(document) : document }
}

function parse({ bytes, contentType, expected }: Body): Json | StatusError {
  const { type } = parseMediaType(contentType)
  if (type === PROTOBUF) return decodeProtobuf(bytes, expected)
  return type === YAML || type.endsWith('+yaml')
    ? parseYaml(bytes, MAX_DEPTH)
    : parseJson(bytes, MAX_DEPTH)
}

function withoutManagedFields(document: Json): Json {
  if (!isJsonObject(document)) return document
  const stripped = stripMetadata(document)
  const { items, rows } = stripped
  return {
    ...stripped,
    ...(Array.isArray(items) && { items: items.map(stripObject) }),
    ...(Array.isArray(rows) && { rows: rows.map(stripRow) }),
  }
}

function stripRow(row: Json): Json {
  if (!isJsonObject(row) || !isJsonObject(row['object'])) return row
  return { ...row, object: stripMetadata(row['object']) }
}

function stripObject(object: Json): Json {
  return isJsonObject(object) ? stripMetadata(object) : object
}

function stripMetadata(object: JsonObject): JsonObject {
  const { metadata } = object
  if (!isJsonObject(metadata)) return object
  return { ...object, metadata: without(metadata, 'managedFields') }
}
