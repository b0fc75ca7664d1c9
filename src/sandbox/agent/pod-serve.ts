import { once } from 'node:events'
import { promisify } from 'node:util'
import { createServer } from '../../lib/http/node-http.ts'

/** The response of a pod's server to every request, as one line of JSON. */
export interface PodReply {
  readonly pod: string
  /** The client's address as the pod saw it. */
  readonly client: string
}

export interface PodServerOptions {
  readonly name: string
  readonly ip: string
  readonly port: number
}

export interface PodServer {
  readonly port: number
  /** From now on the pod reports that it is not ready, and still answers. */
  drain(): void
  /** Answers the requests that have already arrived, and accepts no further ones. */
  close(): Promise<void>
}

/** Path of the readiness probe: 200 while the pod wants traffic, else 503. */
export const READY_PATH = '/ready'

/** The HTTP server of one pod: each response names the pod and the address of the client. */
export async function servePod({ name, ip, port }: PodServerOptions): Promise<PodServer> {
  let draining = false
  const server = createServer((request, response) => {
    const isProbe = request.url === READY_PATH
    const reply: PodReply = { pod: name, client: request.socket.remoteAddress ?? '' }
    response.statusCode = isProbe && draining ? 503 : 200
    response.setHeader('content-type', 'application/json')
    response.setHeader('connection', 'close')
    response.end(`${JSON.stringify(reply)}\n`)
  })
  server.listen(port, ip)
  await once(server, 'listening')
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : port,
    drain: () => {
      draining = true
    },
    close: promisify(server.close.bind(server)),
  }
}
