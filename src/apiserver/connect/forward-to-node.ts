import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { isJsonObject, type Json, stringAt } from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'
import type { ServerContext } from '../context/server-context.ts'
import {
  type HandlerResult,
  STREAMING,
  type StreamRequest,
  type Upgrade,
} from '../request/api-request.ts'
import { keepAlive, sendChunks } from '../request/end-response.ts'
import { StatusError, tooManyRequests } from '../status/status.ts'
import { findEndpoint, type NodeEndpoint } from './find-endpoint.ts'
import { type NodeRequest, requestNode, upgradeNode } from './node-client.ts'
import { openConnection, streamRefusal } from './open-stream.ts'

/** The maximum size of an error that is parsed; a longer answer is passed on unchanged. */
const MAX_BYTES = 65_536

/** The code of an error of node-proxy. */
const CODE = /^NP_[A-Z0-9_]{1,60}$/

/** Characters that could control a terminal. */
const CONTROL = /[\p{C}\p{Zl}\p{Zp}]/gu

/** The Status reasons for the codes that node-proxies answer with. */
const REASONS: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  503: 'ServiceUnavailable',
}

/** Headers that make a browser use the declared type of the answer, run nothing in it and not store it. */
const HEADERS = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'; sandbox",
  'Cross-Origin-Resource-Policy': 'same-origin',
  'X-Content-Type-Options': 'nosniff',
}

/** The Content-Type of an answer that names none. */
const BYTES = 'application/octet-stream'

/**
 * Requests below `nodes/proxy`: sends them to the node-proxy or the kubelet of the node with the certificate of this
 * server, never with the credentials of the client, and passes on the answer while it arrives.
 */
export async function forwardToNode(
  context: ServerContext,
  request: StreamRequest,
): Promise<HandlerResult> {
  const endpoint = await findEndpoint(context, request)
  if (endpoint instanceof StatusError) return endpoint
  const { streams, limits } = context
  const { response, method } = request
  if (endpoint.isKubelet && request.upgrade !== undefined) {
    return forwardUpgrade(context, request, { ...endpoint, upgrade: request.upgrade })
  }
  if (streams.isFull) return tooManyRequests('too many streams at one time', 5)
  if (response.destroyed) return STREAMING
  const over = new AbortController()
  const forget = streams.add(() => over.abort())
  const end = (): void => {
    forget()
    over.abort()
  }
  const fail = (status: StatusError): StatusError => {
    end()
    return status
  }
  response.once('close', end)
  const sent = { method, path: endpoint.path, ...contentOf(endpoint, request) }
  const answered = await requestNode(context, endpoint.target, sent, over.signal)
  if (answered instanceof StatusError) return fail(answered)
  const { answer, broken } = answered
  answer.setTimeout(limits.idleStreamTimeout, () => answer.destroy())
  const isReadable = !endpoint.isKubelet && method === 'GET' && mayBeNodeError(answer)
  const body = isReadable ? await readNodeError(request.name, answer) : answer
  if (body instanceof Error) return fail(broken(body))
  if (body instanceof StatusError) return fail(body)
  void sendNodeAnswer(response, { answer, body }, context).finally(end)
  return STREAMING
}

/** node-proxy serves two media types, and takes no content; a kubelet gets what the client sends. */
function contentOf(
  { isKubelet }: NodeEndpoint,
  { accept, headers, body }: StreamRequest,
): Pick<NodeRequest, 'headers' | 'body'> {
  if (!isKubelet) return { headers: { Accept: 'application/json, application/x-ndjson' } }
  const type = headers['content-type']
  return { body, headers: { Accept: accept, ...(type !== undefined && { 'Content-Type': type }) } }
}

/** The headers by which a client and a kubelet agree on a protocol. */
const UPGRADE_HEADERS = [
  'connection',
  'upgrade',
  'sec-websocket-key',
  'sec-websocket-version',
  'sec-websocket-protocol',
  'sec-websocket-accept',
  'x-stream-protocol-version',
]

/**
 * Connects a client with the kubelet of a node, byte by byte, in the protocol on which the two agree. As this can run
 * commands, it takes the permission to create, also by GET.
 */
async function forwardUpgrade(
  context: ServerContext,
  request: StreamRequest,
  { target, path, upgrade }: NodeEndpoint & { readonly upgrade: Upgrade },
): Promise<HandlerResult> {
  const refused = streamRefusal(context, request)
  if (refused !== undefined) return refused
  const over = new AbortController()
  request.response.once('close', () => over.abort())
  const headers = upgradeHeaders(request.headers)
  const sent = { method: request.method, path, headers }
  const opened = await upgradeNode(context, target, sent, over.signal)
  if (opened instanceof StatusError) return opened
  if (!('channel' in opened)) {
    const { statusCode: code, message } = opened
    return new StatusError({ code, reason: REASONS[code] ?? 'InternalError', message })
  }
  const client = openConnection(context, request, {
    upgrade,
    headers: upgradeHeaders(opened.headers),
  })
  const { channel } = opened
  for (const [from, to] of [
    [client, channel],
    [channel, client],
  ] as const) {
    from.on('error', () => to.destroy())
    from.once('close', () => to.destroy())
    from.pipe(to)
  }
  return STREAMING
}

function upgradeHeaders(all: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(
    UPGRADE_HEADERS.flatMap((name) => {
      const value = all[name]
      return typeof value === 'string' ? [[name, value]] : []
    }),
  )
}

/** `body`: the body of the answer, if it was already read. */
interface NodeAnswer {
  readonly answer: IncomingMessage
  readonly body?: AsyncIterable<Buffer> | Iterable<Buffer>
}

/**
 * Passes on status, Content-Type and body as fast as the client takes them. If the node does not finish its
 * answer, or sends nothing for `idleStreamTimeout`, the connection to the client is broken off, so that a
 * partial answer is not taken for a complete one.
 */
async function sendNodeAnswer(
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

/** Whether an answer may be an error of node-proxy, `{"code":"NP_…","message":"…"}`. */
function mayBeNodeError({ statusCode = 0, headers }: IncomingMessage): boolean {
  const { 'content-type': type = '', 'content-length': length } = headers
  return statusCode >= 400 && type === 'application/json' && Number(length) <= MAX_BYTES
}

/**
 * An error of node-proxy as a Status with its code as the cause, because Kubernetes clients show the message of
 * a Status but not of other JSON. Otherwise the body, or why it broke off.
 */
async function readNodeError(
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
