import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Reply } from '../api-request.ts'
import { type Refusal, statusDocument } from '../status.ts'

/** Writes a whole answer; long ones as fast as the client takes them. */
export function send(request: IncomingMessage, response: ServerResponse, reply: Reply): void {
  if (response.destroyed) return
  const length = reply.body.reduce((sum, chunk) => sum + chunk.length, 0)
  response.writeHead(reply.code, {
    'Content-Type': reply.contentType,
    'Content-Length': length,
    'Cache-Control': 'no-cache, private',
    ...(request.complete ? {} : { Connection: 'close' }),
  })
  if (reply.body.length === 1) response.end(reply.body[0])
  else sendRest(response, reply.body, 0)
}

export function sendRefusal(
  request: IncomingMessage,
  response: ServerResponse,
  refusal: Refusal,
): void {
  const { status } = refusal
  const retry = status.details?.retryAfterSeconds
  if (retry !== undefined && !response.headersSent) response.setHeader('Retry-After', retry)
  const body = [Buffer.from(`${JSON.stringify(statusDocument(status))}\n`)]
  send(request, response, { code: status.code, contentType: 'application/json', body })
}

function sendRest(response: ServerResponse, chunks: readonly Buffer[], from: number): void {
  let index = from
  while (index < chunks.length) {
    const goesOn = response.write(chunks[index++])
    if (goesOn) continue
    response.once('drain', () => sendRest(response, chunks, index))
    return
  }
  response.end()
}
