import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { create, type DescMessage, type MessageInitShape, toJsonString } from '@bufbuild/protobuf'
import { NodeProxyError } from '../../lib/error.ts'
import { quote } from '../../lib/quote.ts'
import type { ServiceLine } from '../answers.ts'
import {
  ChangeSchema,
  EntrySchema,
  ServiceTrafficSchema,
  StatusResponseSchema,
} from '../generated/inspection_pb.ts'
import type { InspectionSource } from '../inspection-source.ts'
import type { ReadDocument } from './command-documents.ts'
import { COMMON_HEADERS, type Exchange, sendError, sendJson } from './send-json.ts'

const WORST_FIRST = ['Error', 'Pending', 'Conflict', 'Done']

/** Characters that are written at a time. */
const CHUNK_SIZE = 16_384

/** Headers of answers with one JSON object per line. */
const LINES_HEADERS = { ...COMMON_HEADERS, 'Content-Type': 'application/x-ndjson' }

/** The most characters of a word; a name of a Service with its namespace and port has at most 63 + 63 + 15 characters. */
const MAX_WORD = 256

/** Bytes that may wait for a reader; one that is further behind is cut off. */
const MAX_WAITING_BYTES = 1_000_000

/** Milliseconds of silence after which the kernel checks whether the reader still exists. */
const PROBE_MS = 30_000

/** What the routes read. */
export interface RouteSources {
  readonly source: InspectionSource
  /** Runs a command of node-proxy. */
  readonly readDocument: ReadDocument
  /** The inspection socket by which that command reads this process. */
  readonly socket: string
}

/** Answers a request with this query. Throws a NodeProxyError if the request is wrong. */
export type Route = (exchange: Exchange, query: URLSearchParams) => void | Promise<void>

/** The most readers of changes at the same time: half of the connections of a listener. */
const MAX_FOLLOWERS = 32

/** Includes fields with default values, so that readers need no table of defaults. */
const JSON_FORM = { alwaysEmitImplicit: true }

/** The routes by path. Lists have one JSON object per line. */
export function inspectionRoutes({ source, readDocument, socket }: RouteSources) {
  const followers = new Set<Exchange>()
  const routes: Readonly<Record<string, Route>> = {
    '/inspection/v1/status': (exchange) =>
      sendJson(exchange, jsonOf(StatusResponseSchema, source.status())),
    '/inspection/v1/services': (exchange) =>
      sendLines(exchange, mapped(serviceLines(source), JSON.stringify)),
    '/inspection/v1/entries': (exchange, query) =>
      sendLines(exchange, jsonLines(EntrySchema, source.entries(serviceOf(query)))),
    '/inspection/v1/traffic': (exchange, query) =>
      sendLines(exchange, jsonLines(ServiceTrafficSchema, source.traffic(serviceOf(query)))),
    '/inspection/v1/changes': (exchange) => follow(exchange, source, followers),
    '/inspection/v1/explain': (exchange, query) =>
      sendDocument(exchange, readDocument, explainWords(query, socket)),
    '/inspection/v1/facts': (exchange) =>
      sendDocument(exchange, readDocument, ['facts', '--output=json', `--socket=${socket}`]),
  }
  return new Map(Object.entries(routes))
}

/** Limits the readers of changes, because each keeps a connection, and other readers need some. */
function follow(
  exchange: Exchange,
  source: Pick<InspectionSource, 'watchChanges'>,
  followers: Set<Exchange>,
): void {
  if (followers.size >= MAX_FOLLOWERS) {
    throw new NodeProxyError('NP_INSPECTION_BUSY', `${MAX_FOLLOWERS} others follow the changes`, {
      hint: 'try again when one of them has ended',
    })
  }
  followers.add(exchange)
  exchange.response.once('close', () => followers.delete(exchange))
  sendChanges(exchange, source)
}

function serviceOf(query: URLSearchParams): string {
  return query.get('service') ?? ''
}

function jsonOf<S extends DescMessage>(schema: S, message: MessageInitShape<S>): string {
  return toJsonString(schema, create(schema, message), JSON_FORM)
}

function jsonLines<S extends DescMessage>(
  schema: S,
  messages: Iterable<MessageInitShape<S>> | AsyncIterable<MessageInitShape<S>>,
): AsyncIterable<string> {
  return mapped(messages, (message) => jsonOf(schema, message))
}

async function* mapped<T>(items: Iterable<T> | AsyncIterable<T>, map: (item: T) => string) {
  for await (const item of items) yield map(item)
}

/** Sends the document of a command, which may take longer than a connection may be silent. */
async function sendDocument(
  exchange: Exchange,
  readDocument: ReadDocument,
  words: readonly string[],
): Promise<void> {
  exchange.request.socket.setTimeout(0)
  const found = await readDocument(words)
  if ('json' in found) sendJson(exchange, found.json)
  else sendError(exchange, found.error, { status: found.status })
}

/** Answers with the last changes and each further one, one JSON object per line, until the reader disconnects. */
function sendChanges(
  { request, response }: Exchange,
  source: Pick<InspectionSource, 'watchChanges'>,
): void {
  response.writeHead(200, LINES_HEADERS)
  if (request.method === 'HEAD') return void response.end()
  // There may be no change for hours.
  request.socket.setTimeout(0)
  request.socket.setKeepAlive(true, PROBE_MS)
  response.flushHeaders()
  const stop = source.watchChanges((change) => {
    response.write(`${toJsonString(ChangeSchema, create(ChangeSchema, change))}\n`)
    if (response.writableLength > MAX_WAITING_BYTES) response.destroy()
  })
  response.once('close', stop)
}

/**
 * The arguments of `node-proxy explain` for the query of a request. No value of the query can become a flag.
 * @throws NP_INSPECTION_REFUSED
 */
function explainWords(query: URLSearchParams, socket: string): readonly string[] {
  const [source, destination] = [required(query, 'source'), required(query, 'destination')]
  const flags = ['protocol', 'interface'].flatMap((name) => {
    const value = wordOf(query, name)
    return value === undefined ? [] : [`--${name}=${value}`]
  })
  return ['explain', '--output=json', `--socket=${socket}`, ...flags, '--', source, destination]
}

function required(query: URLSearchParams, name: string): string {
  const value = wordOf(query, name)
  if (value !== undefined) return value
  throw new NodeProxyError('NP_INSPECTION_REFUSED', `${name}: the query has none`, {
    hint: 'write ?source=ADDRESS&destination=ADDRESS:PORT',
  })
}

function wordOf(query: URLSearchParams, name: string): string | undefined {
  const value = query.get(name) ?? ''
  if (value === '') return undefined
  if (value.length <= MAX_WORD && !/\p{C}/u.test(value)) return value
  throw new NodeProxyError('NP_INSPECTION_REFUSED', `${name}: ${quote(value)} is no word`, {
    hint: `write at most ${MAX_WORD} printable characters`,
  })
}

/**
 * Answers with one JSON object per line. Lines are made as fast as the reader takes them. If a line cannot be made, the
 * connection is cut, so that the reader knows that the list is incomplete.
 * @throws the error of the first line that cannot be made
 */
async function sendLines(
  { request, response }: Exchange,
  lines: Iterable<string> | AsyncIterable<string>,
): Promise<void> {
  response.writeHead(200, LINES_HEADERS)
  if (request.method === 'HEAD') return void response.end()
  try {
    await pipeline(Readable.from(chunksOf(lines), { objectMode: true, highWaterMark: 1 }), response)
  } catch (error) {
    if (!isCut(error)) throw error
  }
}

async function* chunksOf(lines: Iterable<string> | AsyncIterable<string>) {
  let chunk = ''
  for await (const line of lines) {
    chunk += `${line}\n`
    if (chunk.length < CHUNK_SIZE) continue
    yield chunk
    chunk = ''
  }
  if (chunk !== '') yield chunk
}

/** Whether the error says that the reader closed the connection. */
function isCut(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException).code ?? ''
  return ['ERR_STREAM_PREMATURE_CLOSE', 'ECONNRESET', 'EPIPE'].includes(code)
}

type Entry = MessageInitShape<typeof EntrySchema>
type LineProblem = NonNullable<ServiceLine['problem']>

/**
 * The Services of the entries, in the order of these, each made when it is taken; then the Services that have problems
 * but no entry.
 */
function* serviceLines(
  source: Pick<InspectionSource, 'entries' | 'status'>,
): Generator<ServiceLine> {
  const problems = new Map<string, LineProblem>()
  for (const { entry = '', code = '', message = '' } of source.status().problems ?? []) {
    const service = entry.split(':', 1)[0] ?? ''
    if (!problems.has(service)) problems.set(service, { code, message })
  }
  const seen = new Set<string>()
  let group: Entry[] = []
  for (const entry of source.entries('')) {
    if (group.length > 0 && group[0]?.service !== entry.service) {
      yield lineOf(group, problems)
      group = []
    }
    group.push(entry)
    seen.add(entry.service ?? '')
  }
  if (group.length > 0) yield lineOf(group, problems)
  for (const [service, problem] of problems) {
    if (!seen.has(service)) yield { service, entries: 0, backends: 0, status: 'Conflict', problem }
  }
}

function lineOf(group: readonly Entry[], problems: ReadonlyMap<string, LineProblem>): ServiceLine {
  const service = group[0]?.service ?? ''
  const backends = group.flatMap((entry) => entry.backends ?? [])
  const problem = problems.get(service)
  return {
    service,
    entries: group.length,
    backends: new Set(backends.map(({ ip, port }) => `${ip} ${port}`)).size,
    status: WORST_FIRST.find((one) => group.some(({ status }) => status === one)) ?? 'Done',
    ...(problem === undefined ? {} : { problem }),
  }
}
