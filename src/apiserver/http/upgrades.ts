import { type IncomingMessage, type Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { StatusError } from '../status/status.ts'
import { type HandlerOptions, handleRequest } from './handle-request.ts'
import { parseRequestTarget } from './request-target.ts'

/** Protocols that a client may request of a connection. */
const PROTOCOLS = new Set(['websocket', 'spdy/3.1'])

/**
 * Whether a request is for another protocol at a path that has one. Every other request with the header Upgrade is
 * answered as if it had none, as HTTP permits.
 */
export function isUpgrade(
  { route }: Pick<HandlerOptions, 'route'>,
  request: IncomingMessage,
): boolean {
  if (!PROTOCOLS.has((request.headers.upgrade ?? '').toLowerCase())) return false
  const target = parseRequestTarget(request.url ?? '')
  if (target instanceof StatusError) return false
  const found = route(target.path)?.route
  if (found?.kind !== 'resource') return false
  const { streamed = [] } = found.served.resource
  return streamed.some(({ name }) => name === found.subresource && name !== 'log')
}

/** Serves such requests like all others, with the connection for the handler that changes its protocol. */
export function withUpgrades<S extends Server>(server: S, handler: HandlerOptions): S {
  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    socket.on('error', () => socket.destroy())
    const response = new ServerResponse(request)
    response.shouldKeepAlive = false
    response.assignSocket(socket)
    response.once('finish', () => socket.destroySoon())
    void handleRequest(handler, request, response, { socket, head })
  })
  return server
}
