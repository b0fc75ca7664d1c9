/** What the page shows. It is the fragment of the URL, so that links and the history of the browser work. */
export type Route =
  /** `service`: namespace/name whose details are shown; empty: none. */
  | { readonly view: 'services'; readonly service: string }
  | { readonly view: 'latency' }
  | { readonly view: 'problems' }
  /** With a source and a destination it is explained at once. */
  | {
      readonly view: 'explain'
      readonly source: string
      readonly destination: string
      readonly protocol: string
      readonly inInterface: string
    }

export const START: Route = { view: 'services', service: '' }

/** The route of a fragment, with or without its `#`; the start page if it is not a route. */
export function parseRoute(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#?\/?/, '').split('?')
  const [view = '', ...words] = path.split('/').map(decoded)
  switch (view) {
    case 'services':
      return { view, service: words.length === 2 ? words.join('/') : '' }
    case 'latency':
    case 'problems':
      return { view }
    case 'explain': {
      const fields = new URLSearchParams(query)
      const field = (name: string) => fields.get(name) ?? ''
      return {
        view,
        source: field('source'),
        destination: field('destination'),
        protocol: field('protocol'),
        inInterface: field('interface'),
      }
    }
    default:
      return START
  }
}

/**
 * The fragment of a route, with its `#`. `base`: the part before it, on a page that shows more than one node.
 */
export function routeHash(route: Route, base = ''): string {
  return `#${base}${pathOf(route)}`
}

function pathOf(route: Route): string {
  switch (route.view) {
    case 'services': {
      const name = route.service.split('/').map(encodeURIComponent).join('/')
      return name === '' ? '/services' : `/services/${name}`
    }
    case 'latency':
    case 'problems':
      return `/${route.view}`
    case 'explain': {
      const { source, destination, protocol, inInterface } = route
      const all = Object.entries({ source, destination, protocol, interface: inInterface })
      const given = new URLSearchParams(all.filter(([, value]) => value !== ''))
      return given.size === 0 ? '/explain' : `/explain?${given}`
    }
  }
}

/** The route that explains a packet of this node to a Service. */
export function explainRoute(destination: string, protocol = ''): Route {
  return { view: 'explain', source: 'node', destination, protocol, inInterface: '' }
}

/** A word of a fragment, decoded; unchanged if its encoding is invalid. */
export function decoded(word: string): string {
  try {
    return decodeURIComponent(word)
  } catch {
    return word
  }
}
