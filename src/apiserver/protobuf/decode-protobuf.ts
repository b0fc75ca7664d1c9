import type { JsonObject } from '../../lib/json.ts'
import { messageOf } from '../schema/schema.ts'
import type { StatusError } from '../status/status.ts'
import { badRequest, unsupportedMediaType } from '../status/status-errors.ts'
import { decodeMessage } from './decode-message.ts'
import { readEnvelope } from './envelope.ts'
import { WireFault } from './wire-fault.ts'

export const PROTOBUF = 'application/vnd.kubernetes.protobuf'

/** What a body is taken for that does not name its type. */
export interface ExpectedType {
  readonly apiVersion: string
  readonly kind: string
}

/**
 * The object of a protobuf body, as JSON would have given it. 400 for bytes that
 * are no such body, 415 for a kind that the schema does not know.
 */
export function decodeProtobuf(body: Buffer, expected: ExpectedType): JsonObject | StatusError {
  try {
    const envelope = readEnvelope(body)
    const apiVersion = envelope.apiVersion || expected.apiVersion
    const kind = envelope.kind || expected.kind
    const message = messageOf(apiVersion, kind)
    if (message === undefined || envelope.contentEncoding !== '') {
      return unsupportedMediaType(['application/json'])
    }
    return decodeMessage(envelope.object, message, { apiVersion, kind })
  } catch (error) {
    if (!(error instanceof WireFault)) throw error
    return badRequest(`the body is not valid protobuf at byte ${error.offset}: ${error.message}`)
  }
}
