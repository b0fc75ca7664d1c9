import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { readPageFiles } from '../serving/page-files.ts'
import { sendPageFile } from '../serving/send-page-file.ts'
import { clusterAnswers, type MadeCluster, sendFailure } from './cluster-answers.ts'
import { type MadeFailure, statusFailure } from './cluster-nodes.ts'

/** An orch-server as a browser sees it: the page of the cluster below `/page/`, and the API, with made-up nodes. */
export interface FakeCluster {
  readonly url: string
  /** Paths with queries, in the order of the requests. */
  readonly requests: readonly string[]
  /** From now on, no token is accepted. */
  expireTokens(): void
  close(): Promise<void>
}

/** Tokens, named by what their users may do. */
export const TOKENS = {
  reader: 'eyJhbGciOiJSUzI1NiJ9.reader-of-everything.c2lnbmF0dXJl',
  /** May list nodes, and read none of them. */
  lister: 'eyJhbGciOiJSUzI1NiJ9.lister-of-nodes.c2lnbmF0dXJl',
  /** May do nothing. */
  guest: 'eyJhbGciOiJSUzI1NiJ9.guest.c2lnbmF0dXJl',
} as const

export async function startFakeCluster(options: MadeCluster): Promise<FakeCluster> {
  const pages = await readPageFiles({ document: 'cluster.html' })
  const requests: string[] = []
  let isExpired = false
  const answer = clusterAnswers(options)
  const server = createServer((request, response) => {
    requests.push(request.url ?? '')
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost')
    if (pathname.startsWith('/page/')) {
      const isFile = sendPageFile({ request, response }, pages, pathname.slice('/page/'.length))
      if (!isFile) response.writeHead(404).end()
      return
    }
    const refused = isExpired ? INVALID : refusalOf(request, pathname)
    if (refused !== undefined) sendFailure(response, refused)
    else answer(pathname, searchParams, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/page/`,
    requests,
    expireTokens: () => void (isExpired = true),
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

const INVALID = statusFailure(401, 'Unauthorized')

function refusalOf({ headers, method }: IncomingMessage, path: string): MadeFailure | undefined {
  if (method !== 'GET') return statusFailure(405, 'only GET is made up')
  const token = (headers.authorization ?? '').replace('Bearer ', '')
  const { reader, lister, guest } = TOKENS
  if (token === reader) return undefined
  if (token === lister && path === '/api/v1/nodes') return undefined
  if (token !== lister && token !== guest) return INVALID
  const [verb, resource] = path.includes('/proxy/') ? ['get', 'nodes/proxy'] : ['list', 'nodes']
  const user = token === lister ? 'lister' : 'guest'
  const message = `${resource} is forbidden: User "${user}" cannot ${verb} resource "${resource}" in API group ""`
  return statusFailure(403, message)
}
