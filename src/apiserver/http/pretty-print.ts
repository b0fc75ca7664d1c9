import type { IncomingMessage } from 'node:http'
import { JSON_TYPE } from '../encoding/media-type.ts'
import type { Reply } from '../request/api-request.ts'
import { parseFlag } from '../request/list-options.ts'

/** Whether the request has the query parameter `pretty=true` of the Kubernetes API. */
export function wantsPretty({ url = '' }: IncomingMessage): boolean {
  if (!url.includes('pretty=')) return false
  return parseFlag(new URLSearchParams(url.slice(url.indexOf('?') + 1)), 'pretty')
}

/** Indents a JSON object or Status by two spaces. Lists, which are made while they are sent, stay as they are. */
export function prettyPrinted(reply: Reply): Reply {
  const { body, contentType } = reply
  if (contentType !== JSON_TYPE || !Array.isArray(body) || body.length !== 1) return reply
  const text = JSON.stringify(JSON.parse(String(body[0])), null, 2)
  return { ...reply, body: [Buffer.from(`${text}\n`)] }
}
