import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ServerContext } from '../context/server-context.ts'
import { keepAlive } from '../request/keep-alive.ts'
import { sendChunks } from '../request/send-chunks.ts'

/** A browser that is led to an answer shows it as what it is said to be, runs nothing in it and keeps nothing of it. */
const HEADERS = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'; sandbox",
  'Cross-Origin-Resource-Policy': 'same-origin',
  'X-Content-Type-Options': 'nosniff',
}

/** Of an answer that names none. */
const BYTES = 'application/octet-stream'

/** `body`: where that of the answer was read already. */
export interface NodeAnswer {
  readonly answer: IncomingMessage
  readonly body?: AsyncIterable<Buffer> | Iterable<Buffer>
}

/**
 * Passes on status, Content-Type and body as fast as the client takes them. An answer that the node does not finish is
 * cut, so that no part of a list passes for all of it; so is one that carries nothing for `idleStreamTimeout`.
 */
export async function sendNodeAnswer(
  response: ServerResponse,
  { answer, body = answer }: NodeAnswer,
  { clock, limits }: Pick<ServerContext, 'clock' | 'limits'>,
): Promise<void> {
  response.writeHead(answer.statusCode ?? 0, {
    ...HEADERS,
    'Content-Type': answer.headers['content-type'] ?? BYTES,
  })
  response.flushHeaders()
  if (response.socket !== null) keepAlive(response.socket)
  try {
    await sendChunks(response, body, { clock, stalledMs: limits.stalledClientTimeout })
  } catch {
    response.destroy()
  }
}
