/** What a request path means to an API server. */
export type Route =
  | { readonly kind: 'discovery'; readonly body: unknown }
  | { readonly kind: 'collection'; readonly resource: string; readonly namespace: string }
  | { readonly kind: 'object'; readonly resource: string; readonly key: string }

/** Which endpoint resource the server offers, besides Services and Nodes. */
export type Serves = 'endpoints' | 'slices-v1beta1' | 'slices-v1'

const CORE = ['services', 'endpoints', 'nodes', 'events', 'namespaces', 'pods']
const CORE_PATH = /^\/api\/v1\/(?:namespaces\/([^/]+)\/)?([a-z]+)(?:\/([^/]+))?(?:\/status)?$/
const SLICE_PATH =
  /^\/apis\/discovery\.k8s\.io\/(v1|v1beta1)\/(?:namespaces\/([^/]+)\/)?(endpointslices)(?:\/([^/]+))?$/

export function routeOf(path: string, serves: Serves): Route | undefined {
  const found = discovery(path, serves)
  if (found !== undefined) return { kind: 'discovery', body: found }
  const core = CORE_PATH.exec(path)
  if (core !== null) return resourceRoute(core[2] ?? '', core[1], core[3])
  const slices = SLICE_PATH.exec(path)
  if (slices === null || `slices-${slices[1]}` !== serves) return undefined
  return resourceRoute('endpointslices', slices[2], slices[4])
}

function resourceRoute(
  resource: string,
  namespace: string | undefined,
  name: string | undefined,
): Route | undefined {
  if (resource !== 'endpointslices' && !CORE.includes(resource)) return undefined
  const place = decodeURIComponent(namespace ?? '')
  if (name === undefined) return { kind: 'collection', resource, namespace: place }
  return { kind: 'object', resource, key: `${place}/${decodeURIComponent(name)}` }
}

function discovery(path: string, serves: Serves): unknown {
  const version = serves === 'endpoints' ? undefined : serves.slice('slices-'.length)
  if (path === '/version') return { major: '1', minor: '30', gitVersion: 'v1.30.0' }
  if (path === '/api') return { kind: 'APIVersions', versions: ['v1'] }
  if (path === '/api/v1') return resourceList('v1', CORE)
  if (path === '/apis') return groupList(version)
  if (version === undefined || !path.startsWith('/apis/discovery.k8s.io')) return undefined
  if (path === '/apis/discovery.k8s.io') return group(version)
  if (path !== `/apis/discovery.k8s.io/${version}`) return undefined
  return resourceList(`discovery.k8s.io/${version}`, ['endpointslices'])
}

function groupList(version: string | undefined): unknown {
  const groups = version === undefined ? [] : [group(version)]
  return { kind: 'APIGroupList', apiVersion: 'v1', groups }
}

function group(version: string): unknown {
  const offered = { groupVersion: `discovery.k8s.io/${version}`, version }
  return {
    kind: 'APIGroup',
    apiVersion: 'v1',
    name: 'discovery.k8s.io',
    versions: [offered],
    preferredVersion: offered,
  }
}

function resourceList(groupVersion: string, names: readonly string[]): unknown {
  const kinds: Record<string, string> = { endpointslices: 'EndpointSlice', endpoints: 'Endpoints' }
  return {
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion,
    resources: names.map((name) => ({
      name,
      kind: kinds[name] ?? `${name[0]?.toUpperCase()}${name.slice(1, -1)}`,
      namespaced: name !== 'nodes' && name !== 'namespaces',
      verbs: ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'],
    })),
  }
}
