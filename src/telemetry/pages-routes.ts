import type { RequestListener, ServerResponse } from 'node:http'

/** The response to one request. */
export interface Page {
  /** The HTTP status code. */
  readonly code: number
  readonly contentType: string
  readonly body: string
}

/** Makes the response to one request; it is called again for each. If it throws or rejects, the response is 500. */
export type Route = () => Page | Promise<Page>

/** Routes by path, such as `/healthz`, without a query. */
export type Routes = Readonly<Record<string, Route>>

/** A response with `body` as JSON. */
export function jsonPage(code: number, body: unknown): Page {
  return { code, contentType: 'application/json', body: `${JSON.stringify(body)}\n` }
}

/** A response with plain text. */
export function textPage(code: number, body: string): Page {
  return { code, contentType: 'text/plain; charset=utf-8', body }
}

/**
 * Returns a handler for GET and HEAD requests of the routes; it ignores the query. The response to other methods is
 * 405, and to other paths 404. If a route fails, the response is 500, and `onError` receives the error.
 */
export function serveRoutes(routes: Routes, onError: (error: unknown) => void): RequestListener {
  const known = new Map(Object.entries(routes))
  return (request, response) => {
    const path = (request.url ?? '/').split('?', 1)[0] ?? '/'
    const route = known.get(path)
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('Allow', 'GET, HEAD')
      send(response, textPage(405, 'only GET and HEAD\n'))
    } else if (route === undefined) {
      send(response, textPage(404, `one of: ${[...known.keys()].join(' ')}\n`))
    } else {
      void answer(route, response, onError)
    }
  }
}

async function answer(route: Route, response: ServerResponse, onError: (e: unknown) => void) {
  try {
    send(response, await route())
  } catch (error) {
    onError(error)
    send(response, textPage(500, 'internal error; see the log\n'))
  }
}

function send(response: ServerResponse, page: Page): void {
  response.writeHead(page.code, {
    'Content-Type': page.contentType,
    'Content-Length': Buffer.byteLength(page.body),
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'no-store',
  })
  response.end(page.body)
}
