import type { IncomingMessage, ServerResponse } from 'node:http'
import { pipeline, type Writable } from 'node:stream'
import { createGzip } from 'node:zlib'
import { JSON_TYPE, parseAccept } from '../encoding/media-type.ts'
import type { Exchange, Reply } from '../request/api-request.ts'
import { endResponse } from '../request/end-response.ts'
import { parseFlag } from '../request/list-options.ts'
import { type StatusError, statusDocument } from '../status/status.ts'
import type { HttpContext } from './create-http-context.ts'

type Chunks = Iterator<Buffer, unknown>

/** What sending an answer uses. */
export interface SendOptions {
  readonly context: Pick<HttpContext, 'clock' | 'lifecycle' | 'limits'>
  /** Receives bugs and failures of the store that come up when a part of the answer is already sent. */
  readonly onError: (error: unknown) => void
}

/** An answer and the stream that its bytes are written to: the response itself or the stream that compresses them. */
interface Sending {
  readonly response: ServerResponse
  readonly sink: Writable
}

/**
 * Answers of at most this many bytes are sent whole, with Content-Length; longer ones in chunks and, on
 * request, compressed.
 */
const MAX_WHOLE_BYTES = 128 << 10

/** Bytes that are written before yielding to the event loop. */
const BYTES_PER_TURN = 1 << 20

/**
 * Writes an answer as fast as the client reads it; a client that reads nothing for `stalledClientTimeout` is
 * disconnected. An answer with an ETag is never indented, because the tag identifies its exact bytes. An answer whose
 * generation fails after its head is sent ends without its end, so that the client sees that it is not whole.
 */
export function send(options: SendOptions, { request, response }: Exchange, plain: Reply): void {
  if (response.destroyed) return
  const { context } = options
  const isTagged = response.hasHeader('ETag')
  const reply = !isTagged && wantsPretty(request) ? prettyPrinted(plain) : plain
  const headers = {
    'Content-Type': reply.contentType,
    'Cache-Control': 'no-cache, private',
    ...(request.complete && !context.lifecycle.isClosing ? {} : { Connection: 'close' }),
  }
  const chunks: Chunks = reply.body[Symbol.iterator]()
  const { head, isWhole } = takeHead(chunks)
  if (isWhole) {
    response.writeHead(reply.code, { ...headers, 'Content-Length': head.length })
    endResponse(response, { last: head, stalledMs: context.limits.stalledClientTimeout })
    return
  }
  const isCompressed = acceptsGzip(request.headers['accept-encoding'])
  response.appendHeader('Vary', 'Accept-Encoding')
  if (isCompressed) response.setHeader('Content-Encoding', 'gzip')
  response.writeHead(reply.code, headers)
  const sink = isCompressed ? gzipInto(response) : response
  sink.write(head)
  sendRest(options, { response, sink }, chunks)
}

/** Answers with the `Status` of an error, and with Retry-After (seconds) when the error has one. */
export function sendStatusError(
  options: SendOptions,
  exchange: Exchange,
  { status }: StatusError,
): void {
  const { response } = exchange
  const retry = status.details?.retryAfterSeconds
  if (retry !== undefined && !response.headersSent) response.setHeader('Retry-After', retry)
  const body = [Buffer.from(`${JSON.stringify(statusDocument(status))}\n`)]
  send(options, exchange, { code: status.code, contentType: 'application/json', body })
}

/** The first chunks: all of a short answer, or as many as show that it is long. */
function takeHead(chunks: Chunks): { readonly head: Buffer; readonly isWhole: boolean } {
  const parts: Buffer[] = []
  for (let bytes = 0; bytes <= MAX_WHOLE_BYTES; ) {
    const next = chunks.next()
    if (next.done === true) return { head: Buffer.concat(parts), isWhole: true }
    parts.push(next.value)
    bytes += next.value.length
  }
  return { head: Buffer.concat(parts), isWhole: false }
}

function sendRest(options: SendOptions, sending: Sending, chunks: Chunks): void {
  const { response, sink } = sending
  for (let bytes = 0; bytes < BYTES_PER_TURN; ) {
    if (response.destroyed || sink.destroyed) return
    if (sink.writableNeedDrain) return awaitDrain(options, sending, chunks)
    const next = nextOf(chunks, options)
    if (next === 'failed') {
      response.destroy()
      return
    }
    if (next.done === true) {
      const stalledMs = options.context.limits.stalledClientTimeout
      endResponse(response, { sink, stalledMs })
      return
    }
    bytes += next.value.length
    sink.write(next.value)
  }
  setImmediate(() => sendRest(options, sending, chunks))
}

function nextOf(chunks: Chunks, { onError }: SendOptions): IteratorResult<Buffer> | 'failed' {
  try {
    return chunks.next()
  } catch (error) {
    onError(error)
    return 'failed'
  }
}

function awaitDrain(options: SendOptions, sending: Sending, chunks: Chunks): void {
  const { response, sink } = sending
  const { context } = options
  const cancel = context.clock.after(context.limits.stalledClientTimeout, () => response.destroy())
  sink.once('close', cancel)
  sink.once('drain', () => {
    cancel()
    sink.off('close', cancel)
    setImmediate(() => sendRest(options, sending, chunks))
  })
}

/** Whether the request has the query parameter `pretty=true` of the Kubernetes API. */
function wantsPretty({ url = '' }: IncomingMessage): boolean {
  if (!url.includes('pretty=')) return false
  return parseFlag(new URLSearchParams(url.slice(url.indexOf('?') + 1)), 'pretty')
}

/** Indents a JSON object or Status by two spaces. Lists are generated while they are sent, and are not indented. */
function prettyPrinted(reply: Reply): Reply {
  const { body, contentType } = reply
  if (contentType !== JSON_TYPE || !Array.isArray(body) || body.length !== 1) return reply
  const text = JSON.stringify(JSON.parse(String(body[0])), null, 2)
  return { ...reply, body: [Buffer.from(`${text}\n`)] }
}

/** Whether an Accept-Encoding header names gzip. Without the header, or with only `*`, the answer is not compressed. */
export function acceptsGzip(header = ''): boolean {
  if (header === '') return false
  const gzip = parseAccept(header).find(({ type }) => type === 'gzip')
  return gzip !== undefined && Number(gzip.parameters.get('q') ?? 1) > 0
}

/**
 * A stream that gzips the data written to it into the body of the answer, in zlib's threads and at level 1, the
 * fastest.
 */
function gzipInto(response: ServerResponse): Writable {
  const gzip = createGzip({ level: 1 })
  pipeline(gzip, response, () => undefined)
  return gzip
}
