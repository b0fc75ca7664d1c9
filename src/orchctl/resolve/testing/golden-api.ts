import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { SERVICES, SLICES } from '../../../dns/testing/golden-cluster.ts'
import { isJsonObject, type JsonObject, objectAt, stringAt } from '../../../lib/json.ts'

/** What an API server itself has in `default`. */
const API_SERVICES: readonly JsonObject[] = ['kubernetes', 'orch'].map((name, index) => ({
  metadata: { namespace: 'default', name },
  spec: { clusterIP: `10.96.0.${index + 1}`, ports: [{ name: 'https', port: 443 }] },
}))

const RESOURCES: Readonly<Record<string, JsonObject>> = {
  '/api': { kind: 'APIVersions', versions: ['v1'] },
  '/apis': {
    kind: 'APIGroupList',
    groups: [
      {
        name: 'discovery.k8s.io',
        preferredVersion: { groupVersion: 'discovery.k8s.io/v1' },
        versions: [{ groupVersion: 'discovery.k8s.io/v1' }],
      },
    ],
  },
  '/api/v1': {
    resources: ['Pod', 'Service', 'Endpoints'].map((kind) => resource(kind)),
  },
  '/apis/discovery.k8s.io/v1': { resources: [resource('EndpointSlice')] },
}

function resource(kind: string): JsonObject {
  const name = kind === 'Endpoints' ? 'endpoints' : `${kind.toLowerCase()}s`
  return { name, singularName: kind.toLowerCase(), kind, namespaced: true, verbs: ['list'] }
}

/** An API server of the golden cluster, for reading; and the paths that it forbids. */
export interface GoldenApi {
  readonly url: string
  /** Requests of these paths, without their query, are answered with 403. */
  readonly forbidden: Set<string>
  /** By the path of the collection of a namespace. */
  add(path: string, object: JsonObject): void
  close(): void
}

/** Serves the objects of `dns/testing/golden-cluster.ts` on the loopback. */
export async function openGoldenApi(): Promise<GoldenApi> {
  const collections = new Map<string, JsonObject[]>()
  const forbidden = new Set<string>()
  const add = (path: string, object: JsonObject): void => {
    collections.getOrInsertComputed(path, () => []).push(object)
  }
  for (const raw of [...API_SERVICES, ...SERVICES]) addTo('/api/v1', 'services', raw as JsonObject)
  for (const raw of SLICES) addTo('/apis/discovery.k8s.io/v1', 'endpointslices', raw as JsonObject)
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://api')
    const body = forbidden.has(url.pathname) ? undefined : answer(url, collections)
    const status = forbidden.has(url.pathname) ? 403 : body === undefined ? 404 : 200
    response.writeHead(status, { 'content-type': 'application/json' })
    const refusal = { kind: 'Status', reason: 'Refused', message: `${url.pathname} is refused` }
    response.end(JSON.stringify(body ?? refusal))
  })
  const url = await listening(server)
  return { url, forbidden, add, close: () => void server.close() }

  function addTo(root: string, plural: string, object: JsonObject): void {
    const namespace = stringAt(object, 'metadata', 'namespace')
    add(`${root}/namespaces/${namespace}/${plural}`, object)
  }
}

async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** A document of discovery, a collection of one namespace or of all, or an object of one. */
function answer(
  { pathname, searchParams }: URL,
  collections: ReadonlyMap<string, readonly JsonObject[]>,
): JsonObject | undefined {
  const known = RESOURCES[pathname]
  if (known !== undefined) return known
  const found = [...collections].filter(([path]) => fits(path, pathname))
  const items = found.flatMap(([, objects]) => objects).filter((one) => selects(one, searchParams))
  const plural = pathname.split('/').at(-1)
  if (['services', 'endpointslices', 'pods'].includes(plural ?? '')) {
    return { apiVersion: 'v1', kind: 'List', metadata: {}, items }
  }
  const folder = pathname.slice(0, pathname.lastIndexOf('/'))
  return collections.get(folder)?.find((one) => stringAt(one, 'metadata', 'name') === plural)
}

function fits(path: string, pathname: string): boolean {
  return path === pathname || path.replace(/\/namespaces\/[^/]+/, '') === pathname
}

/** Whether an object matches the selectors that the tests use: a label, and the name of the object. */
function selects(object: JsonObject, query: URLSearchParams): boolean {
  const [label, value] = (query.get('labelSelector') ?? '').split('=')
  const [, name] = (query.get('fieldSelector') ?? '').split('=')
  const labels = objectAt(object, 'metadata', 'labels')
  if (!isJsonObject(labels)) return false
  if (label && labels[label] !== value) return false
  return name === undefined || stringAt(object, 'metadata', 'name') === name
}
