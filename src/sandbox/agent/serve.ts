import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { PodReply } from './protocol.ts'

/** The HTTP server of one pod: it tells everybody who it is and whom it saw. */
export async function servePod(name: string, ip: string, port: number): Promise<Server> {
  const server = createServer((request, response) => {
    const reply: PodReply = { pod: name, client: request.socket.remoteAddress ?? '' }
    response.setHeader('content-type', 'application/json')
    response.setHeader('connection', 'close')
    response.end(`${JSON.stringify(reply)}\n`)
  })
  server.listen(port, ip)
  await once(server, 'listening')
  return server
}
