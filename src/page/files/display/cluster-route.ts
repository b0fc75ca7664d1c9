import { decoded, parseRoute, type Route, routeHash, START } from './route.ts'

/** What the page of the cluster shows; the fragment of its URL. */
export type ClusterRoute =
  /** `node`: the node whose details are shown; empty: none. */
  | { readonly view: 'nodes'; readonly node: string }
  /** `service`: namespace/name whose details are shown; empty: none. */
  | { readonly view: 'services'; readonly service: string }
  | ClusterExplainRoute
  /** A view of one node. */
  | { readonly view: 'node'; readonly node: string; readonly route: Route }

/** With a source and a destination it is explained at once. */
export interface ClusterExplainRoute {
  readonly view: 'explain'
  /** Empty: it is found by the source. */
  readonly node: string
  readonly source: string
  readonly destination: string
  readonly protocol: string
  readonly inInterface: string
}

export const NODES: ClusterRoute = { view: 'nodes', node: '' }

/** The route of a fragment, with or without its `#`; the page of nodes if it is not a route. */
export function parseClusterRoute(hash: string): ClusterRoute {
  const [path = '', query = ''] = hash.replace(/^#?\/?/, '').split('?')
  const [view = '', word = '', ...rest] = path.split('/')
  if (view === 'nodes') return nodeRoute(decoded(word), rest, query)
  const route = parseRoute(hash)
  if (view === 'services' && route.view === 'services') return route
  if (view === 'explain' && route.view === 'explain') {
    return { ...route, node: new URLSearchParams(query).get('node') ?? '' }
  }
  return NODES
}

function nodeRoute(node: string, rest: readonly string[], query: string): ClusterRoute {
  if (rest.length === 0) return { view: 'nodes', node }
  return { view: 'node', node, route: parseRoute(`${rest.join('/')}?${query}`) }
}

/** The fragment of a route, with its `#`. */
export function clusterHash(route: ClusterRoute): string {
  switch (route.view) {
    case 'nodes':
      return `#${route.node === '' ? '/nodes' : nodePath(route.node)}`
    case 'services':
      return routeHash(route)
    case 'explain': {
      const hash = routeHash(route)
      if (route.node === '') return hash
      return `${hash}${hash.includes('?') ? '&' : '?'}${new URLSearchParams({ node: route.node })}`
    }
    case 'node':
      return routeHash(route.route, nodePath(route.node))
  }
}

/** The part of a fragment before the routes of a node. */
export function nodePath(node: string): string {
  return `/nodes/${encodeURIComponent(node)}`
}

/** The fragment of the first view of a node. */
export function nodeHash(node: string): string {
  return clusterHash({ view: 'node', node, route: START })
}
