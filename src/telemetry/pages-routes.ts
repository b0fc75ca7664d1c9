import type { RequestListener, ServerResponse } from 'node:http'

/** A response. */
export interface Page {
  readonly code: number
  readonly contentType: string
  readonly body: string
}

/** Renders the page for each request. */
export type Route = () => Page | Promise<Page>

/** Routes by path. */
export type Routes = Readonly<Record<string, Route>>

/** A page of JSON. */
export function jsonPage(code: number, body: unknown): Page {
  return { code, contentType: 'application/json', body: `${JSON.stringify(body)}\n` }
}

/** A page of plain text. */
export function textPage(code: number, body: string): Page {
  return { code, contentType: 'text/plain; charset=utf-8', body }
}

/** Handles GET and HEAD of the routes; the query is ignored. Other methods are 405, other paths 404. */
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
