import { create, type DescMessage, type MessageInitShape, toJsonString } from '@bufbuild/protobuf'
import { NodeProxyError } from '../../lib/error.ts'
import {
  EntrySchema,
  ServiceTrafficSchema,
  StatusResponseSchema,
} from '../generated/inspection_pb.ts'
import type { InspectionSource } from '../service/inspection-source.ts'
import { sendChanges } from './answers/send-changes.ts'
import { type Exchange, sendError, sendJson } from './answers/send-json.ts'
import { sendLines } from './answers/send-lines.ts'
import { serviceLines } from './answers/service-lines.ts'
import type { ReadDocument } from './commands/command-documents.ts'
import { explainWords } from './commands/explain-words.ts'

/** What the routes read. */
export interface RouteSources {
  readonly source: InspectionSource
  /** Runs a command of node-proxy. */
  readonly readDocument: ReadDocument
  /** Where that command reads this process. */
  readonly socket: string
}

/** Answers a request, whose query is given. Throws NodeProxyErrors for what is wrong with it. */
export type Route = (exchange: Exchange, query: URLSearchParams) => void | Promise<void>

/** Readers of changes at the same time: half of the connections of a listener. */
const MAX_FOLLOWERS = 32

/** Every field, also one that has its default: readers need no table of defaults. */
const JSON_FORM = { alwaysEmitImplicit: true }

/** The routes by path. Lists have one JSON object a line. */
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

/** Readers of changes keep their connection, and others need some. */
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

/** A command may take longer than a connection may be silent. */
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
