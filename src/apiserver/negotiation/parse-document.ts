import type { Json } from '../../lib/json.ts'
import { decodeProtobuf, type ExpectedType, PROTOBUF } from '../encoding/decode-protobuf.ts'
import { JSON_TYPE, YAML } from '../encoding/media-type.ts'
import { dropNulls, parseJson } from '../encoding/parse-json.ts'
import { parseYaml } from '../encoding/yaml.ts'
import { StatusError, unsupportedMediaType } from '../status/status.ts'

/** Whether a body of this content type is JSON; a body without a type is. */
export function isJson(contentType: string): boolean {
  return contentType === '' || contentType === JSON_TYPE
}

export interface DocumentForm {
  /** Empty: JSON. */
  readonly contentType: string
  /** The limit of nesting of a JSON or YAML document. */
  readonly depth: number
  /** The type of a protobuf body that does not name its type. */
  readonly expected: ExpectedType
}

/** The document of a body in JSON, YAML or protobuf; nulls are absent fields. */
export function parseDocument(body: Buffer, form: DocumentForm): Json | StatusError {
  const document = decode(body, form)
  return document instanceof StatusError ? document : dropNulls(document)
}

function decode(body: Buffer, { contentType, depth, expected }: DocumentForm): Json | StatusError {
  if (isJson(contentType)) return parseJson(body, depth)
  if (contentType === YAML) return parseYaml(body, depth)
  if (contentType === PROTOBUF) return decodeProtobuf(body, expected)
  return unsupportedMediaType([JSON_TYPE, YAML, PROTOBUF])
}
