import { once } from 'node:events'
import { createServer } from 'node:http'
import { promisify } from 'node:util'

/** What a pod's server says to everybody, as one line of JSON. */
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
  /** From now on it says that it is not ready, and answers all the same. */
  drain(): void
  /** Answers what has been asked, then no more. */
  close(): Promise<void>
}

/** Path that tells whether the pod wants traffic: 200, or 503. */
export const READY_PATH = '/ready'

/** The HTTP server of one pod: it tells everybody who it is and whom it saw. */
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
