import type { IncomingMessage } from 'node:http'
import { JSON_TYPE } from '../encoding/media-type.ts'
import type { Reply } from '../request/api-request.ts'
import { parseFlag } from '../request/list-options.ts'

/** Whether a person reads the answer: `?pretty=true`. */
export function isPretty({ url = '' }: IncomingMessage): boolean {
  if (!url.includes('pretty=')) return false
  return parseFlag(new URLSearchParams(url.slice(url.indexOf('?') + 1)), 'pretty')
}

/** An object or a Status on many lines. A list stays as it is: it is made while it is sent. */
export function indented(reply: Reply): Reply {
  const { body, contentType } = reply
  if (contentType !== JSON_TYPE || !Array.isArray(body) || body.length !== 1) return reply
  const text = JSON.stringify(JSON.parse(String(body[0])), null, 2)
  return { ...reply, body: [Buffer.from(`${text}\n`)] }
}
