import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { createServer } from '../../../src/lib/http/node-http.ts'
import { routeOf, type Serves } from './route.ts'
import { isSelected } from './selector.ts'
import type { SentObject, StoredEvent, StoredObject, StubStore } from './store.ts'

interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly query: URLSearchParams
  readonly serves: Serves
}

/** A permissive Kubernetes-compatible API server over `store`. */
export function createStubServer(store: StubStore, serves: Serves): Server {
  return createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://stub')
    const exchange = { request, response, query: url.searchParams, serves }
    answer(store, exchange, url.pathname).catch((error: unknown) => {
      status(response, 500, 'InternalError', String(error))
    })
  })
}

async function answer(store: StubStore, exchange: Exchange, path: string): Promise<void> {
  const { request, response, query } = exchange
  if (path === '/stub/compact') {
    store.compact()
    return json(response, 200, {})
  }
  const route = routeOf(path, exchange.serves)
  if (route === undefined) return status(response, 404, 'NotFound', `no ${path}`)
  if (route.kind === 'discovery') return json(response, 200, route.body)
  if (route.kind === 'object') return answerObject(store, exchange, route)
  if (request.method === 'POST') {
    const sent = await body(request)
    const key = `${route.namespace}/${sent.metadata?.name ?? ''}`
    if (store.get(route.resource, key) !== undefined) {
      return status(response, 409, 'AlreadyExists', key)
    }
    const metadata = { ...sent.metadata, ...(route.namespace && { namespace: route.namespace }) }
    return json(response, 201, store.put(route.resource, key, { ...sent, metadata }))
  }
  if (query.get('watch') === 'true' || query.get('watch') === '1') {
    return watch(store, exchange, route)
  }
  json(response, 200, {
    ...typeOf(route.resource, exchange.serves, 'List'),
    metadata: { resourceVersion: String(store.revision) },
    items: store.list(route.resource).filter((item) => isWanted(item, route.namespace, query)),
  })
}

async function answerObject(
  store: StubStore,
  { request, response }: Exchange,
  { resource, key }: { resource: string; key: string },
): Promise<void> {
  const found = store.get(resource, key)
  if (found === undefined) return status(response, 404, 'NotFound', key)
  if (request.method === 'DELETE') return json(response, 200, store.remove(resource, key))
  if (request.method === 'GET') return json(response, 200, found)
  const sent = await body(request)
  const next = request.method === 'PATCH' ? merge({ ...found }, sent) : sent
  json(response, 200, store.put(resource, key, next))
}

/** A watch with selectors: an object that no longer matches is reported as deleted. */
function watch(
  store: StubStore,
  { response, query, serves }: Exchange,
  route: { resource: string; namespace: string },
): void {
  if (query.get('sendInitialEvents') === 'true') {
    return status(response, 422, 'Invalid', 'sendInitialEvents is not supported')
  }
  const send = (type: string, object: object): void => {
    response.write(
      `${JSON.stringify({ type, object: { ...object, ...typeOf(route.resource, serves, '') } })}\n`,
    )
  }
  const onEvent = (event: StoredEvent): void => {
    if (event.resource !== route.resource) return
    const wanted = (item: StoredObject | undefined): item is StoredObject =>
      item !== undefined && isWanted(item, route.namespace, query)
    const revision = String(event.revision)
    if (wanted(event.after)) send(wanted(event.before) ? 'MODIFIED' : 'ADDED', event.after)
    else if (wanted(event.before)) {
      const metadata = { ...event.before.metadata, resourceVersion: revision }
      send('DELETED', { ...event.before, metadata })
    }
  }
  const revision = Number(query.get('resourceVersion') ?? 0)
  response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders()
  const unfollow = store.follow(revision, onEvent)
  if (unfollow === undefined) {
    response.end(
      `${JSON.stringify({ type: 'ERROR', object: failure(410, 'Expired', 'too old') })}\n`,
    )
    return
  }
  const seconds = Number(query.get('timeoutSeconds') ?? 300)
  const timer = setTimeout(() => response.end(), seconds * 1000)
  const bookmarks = setInterval(() => {
    send('BOOKMARK', { metadata: { resourceVersion: String(store.revision) } })
  }, 2000)
  response.on('close', () => {
    clearTimeout(timer)
    clearInterval(bookmarks)
    unfollow()
  })
}

function isWanted(item: StoredObject, namespace: string, query: URLSearchParams): boolean {
  return (namespace === '' || item.metadata.namespace === namespace) && isSelected(item, query)
}

const KINDS: Readonly<Record<string, string>> = {
  services: 'Service',
  endpoints: 'Endpoints',
  endpointslices: 'EndpointSlice',
  nodes: 'Node',
  events: 'Event',
  namespaces: 'Namespace',
  pods: 'Pod',
}

function typeOf(resource: string, serves: Serves, suffix: string) {
  const group = `discovery.k8s.io/${serves.slice('slices-'.length)}`
  const apiVersion = resource === 'endpointslices' ? group : 'v1'
  return { kind: `${KINDS[resource] ?? 'Object'}${suffix}`, apiVersion }
}

/** RFC 7396. */
function merge(target: Record<string, unknown>, patch: Record<string, unknown>): SentObject {
  const result: Record<string, unknown> = { ...target }
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name]
    else if (isRecord(value)) {
      const before = result[name]
      result[name] = merge(isRecord(before) ? before : {}, value)
    } else result[name] = value
  }
  return result
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

async function body(request: IncomingMessage): Promise<SentObject> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return JSON.parse(Buffer.concat(chunks).toString()) as SentObject
}

function json(response: ServerResponse, code: number, value: unknown): void {
  response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(value))
}

function status(response: ServerResponse, code: number, reason: string, message: string): void {
  json(response, code, failure(code, reason, message))
}

function failure(code: number, reason: string, message: string) {
  return { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message }
}
