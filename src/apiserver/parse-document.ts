import type { Json } from '../lib/json.ts'
import { dropNulls, parseJson } from './parse-json.ts'
import { decodeProtobuf, type ExpectedType, PROTOBUF } from './protobuf/decode-protobuf.ts'
import { unsupportedMediaType } from './refusals.ts'
import { Refusal } from './status.ts'

export interface DocumentForm {
  /** Empty: JSON. */
  readonly contentType: string
  /** Nesting of a JSON document. */
  readonly depth: number
  /** What a protobuf body holds that does not say so. */
  readonly expected: ExpectedType
}

/** The document of a body in JSON or protobuf; nulls are absent fields. */
export function parseDocument(body: Buffer, form: DocumentForm): Json | Refusal {
  const document = decode(body, form)
  return document instanceof Refusal ? document : dropNulls(document)
}

function decode(body: Buffer, { contentType, depth, expected }: DocumentForm): Json | Refusal {
  if (contentType === '' || contentType === 'application/json') return parseJson(body, depth)
  if (contentType === PROTOBUF) return decodeProtobuf(body, expected)
  return unsupportedMediaType(['application/json', PROTOBUF])
}
