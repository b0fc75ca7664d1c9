import type { IncomingMessage } from 'node:http'
import { badRequest, tooLarge } from '../refusals.ts'
import { Refusal } from '../status.ts'

/** Reads a request's body, at most `limit` bytes of it. Compressed bodies are not taken. */
export function readBody(request: IncomingMessage, limit: number): Promise<Buffer | Refusal> {
  const encoding = request.headers['content-encoding'] ?? 'identity'
  if (encoding !== 'identity') return Promise.resolve(compressed(encoding))
  const refusal = tooLarge(`Request entity too large: limit is ${limit}`)
  if (Number(request.headers['content-length'] ?? 0) > limit) return Promise.resolve(refusal)
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    let length = 0
    const finish = (outcome: Buffer | Refusal): void => {
      request.off('data', take)
      resolve(outcome)
    }
    const take = (chunk: Buffer): void => {
      length += chunk.length
      if (length > limit) finish(refusal)
      else chunks.push(chunk)
    }
    request.on('data', take)
    request.once('end', () => finish(Buffer.concat(chunks, length)))
    request.once('error', () => finish(badRequest('the body ended early')))
    request.once('close', () => finish(badRequest('the body ended early')))
  })
}

function compressed(encoding: string): Refusal {
  const message = `Content-Encoding ${JSON.stringify(encoding)} is not supported: send the body uncompressed`
  return new Refusal({ code: 415, reason: 'UnsupportedMediaType', message, details: {} })
}
