import type { IncomingMessage } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { isJsonObject, type Json, stringAt } from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'
import { StatusError } from '../status/status.ts'

/** Bytes of an error that is understood; a longer answer is passed on as it is. */
const MAX_BYTES = 65_536

/** The code of an error of node-proxy. */
const CODE = /^NP_[A-Z0-9_]{1,60}$/

/** Characters that could rewrite the screen of a terminal. */
const CONTROL = /[\p{C}\p{Zl}\p{Zp}]/gu

/** The reasons that the API has for what node-proxies answer. */
const REASONS: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  503: 'ServiceUnavailable',
}

/** Whether an answer may be an error of node-proxy, `{"code":"NP_…","message":"…"}`. */
export function mayBeNodeError({ statusCode = 0, headers }: IncomingMessage): boolean {
  const { 'content-type': type = '', 'content-length': length } = headers
  return statusCode >= 400 && type === 'application/json' && Number(length) <= MAX_BYTES
}

/**
 * An error of node-proxy as a Status with its code as the cause, because Kubernetes clients show the message of a Status and
 * of no other JSON; or the body, where it is something else; or why it broke off.
 */
export async function readNodeError(
  node: string,
  answer: IncomingMessage,
): Promise<StatusError | readonly Buffer[] | Error> {
  const body = await buffer(answer).catch((error: Error) => error)
  if (body instanceof Error) return body
  const error = parsed(body)
  const [reason, text] = [stringAt(error, 'code'), stringAt(error, 'message')]
  if (!CODE.test(reason) || text === '') return [body]
  const message = text.replace(CONTROL, ' ')
  const code = answer.statusCode ?? 0
  return new StatusError({
    code,
    reason: REASONS[code] ?? 'InternalError',
    message: `node-proxy of node ${quote(node)}: ${message} (${reason})`,
    details: { name: node, causes: [{ reason, message }] },
  })
}

function parsed(body: Buffer): Json | undefined {
  try {
    const value = JSON.parse(body.toString()) as Json
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
