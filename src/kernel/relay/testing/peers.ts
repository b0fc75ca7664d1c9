import { createSocket, type Socket as Datagrams, type RemoteInfo } from 'node:dgram'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import type { IpAddress } from '../../../lib/ip.ts'
import { freePort } from '../../../lib/testing/free-port.ts'
import type { Relay, RelayAddress, RelayProtocol } from '../relays.ts'

export const LOOPBACK = '127.0.0.1' as IpAddress

/** A server of the test; accepted sockets allow half-open connections. */
export async function serveTcp(
  onClient: (socket: Socket) => void,
  listen: { readonly host?: string; readonly port?: number } = {},
): Promise<{ readonly server: Server; readonly address: RelayAddress }> {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => undefined)
    onClient(socket)
  })
  server.listen({ host: LOOPBACK, port: 0, ...listen })
  await once(server, 'listening')
  const { address, port } = server.address() as AddressInfo
  return { server, address: { ip: address as IpAddress, port } }
}

/** A connection that is being established. */
export function call({ ip, port }: RelayAddress): Socket {
  const socket = connect({ host: ip, port, allowHalfOpen: true })
  return socket.on('error', () => undefined)
}

export async function dial(address: RelayAddress): Promise<Socket> {
  const socket = call(address)
  await once(socket, 'connect')
  return socket
}

/** How the socket ended: the code of its error, or `closed` without an error. */
export async function endOf(socket: Socket): Promise<string> {
  socket.resume()
  if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve))
  const error: NodeJS.ErrnoException | null = socket.errored
  return error === null ? 'closed' : (error.code ?? error.message)
}

/** Everything that the socket receives until the other end sends FIN. */
export async function hear(socket: Socket): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of socket.iterator({ destroyOnReturn: false }))
    chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

export async function datagrams(
  onDatagram: (bytes: Buffer, from: RemoteInfo, socket: Datagrams) => void,
  listen: RelayAddress = { ip: LOOPBACK, port: 0 },
): Promise<{ readonly socket: Datagrams; readonly address: RelayAddress }> {
  const socket = createSocket('udp4', (bytes, from) => onDatagram(bytes, from, socket))
  socket.bind(listen.port, listen.ip)
  await once(socket, 'listening')
  return { socket, address: { ip: listen.ip, port: socket.address().port } }
}

export async function relayTo(protocol: RelayProtocol, target: RelayAddress): Promise<Relay> {
  return { protocol, listen: { ip: LOOPBACK, port: await freePort() }, target }
}
