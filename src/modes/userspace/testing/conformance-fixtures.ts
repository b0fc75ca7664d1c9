import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import type { Backend, EntryId, ServiceKey } from '../../../forwarding/entry.ts'
import { hear, serveTcp } from '../../../kernel/relay/testing/peers.ts'
import { type Cidr, familyOf, type IpAddress, parseCidr, parseIp } from '../../../lib/ip.ts'
import type { Forwarder, ForwarderLimits } from '../forwarder.ts'
import type { Route, RouteListener } from '../route.ts'

/** Opens a forwarder with bound listeners; it is closed when the test has finished. */
export type OpenTestForwarder = (
  limits?: Partial<ForwarderLimits>,
  workers?: number,
) => Promise<Forwarder>

export interface Endpoint {
  readonly ip: IpAddress
  readonly port: number
}

export const ip = (text: string) => parseIp(text) as IpAddress
export const cidr = (text: string) => parseCidr(text) as Cidr

export const LOOPBACK = ip('127.0.0.1')

export const LIMITS: ForwarderLimits = {
  connections: 1000,
  perClient: 1000,
  connectMs: 20_000,
  retryMs: 20_000,
  attempts: 5,
  idleMs: 0,
  udpIdleMs: 60_000,
  drainMs: 60_000,
  affinityClients: 64,
}

/** A route of one listener; without backends its clients are reset. */
export function routeTo(
  at: Endpoint,
  backends: readonly (Endpoint & { readonly weight?: number })[],
  overrides: Partial<Route> = {},
): Route {
  const cluster = backends.map(({ ip, port, weight = 1 }): Backend => {
    return { ip, port, weight, local: false }
  })
  return {
    id: 'shop/cart:http/TCP/4' as EntryId,
    service: 'shop/cart' as ServiceKey,
    protocol: 'TCP',
    family: familyOf(at.ip),
    listeners: [listener(at)],
    pools: { cluster, local: [] },
    balancing: 'rr',
    affinity: undefined,
    proxyProtocol: undefined,
    ...overrides,
  }
}

export function listener(at: Endpoint, overrides: Partial<RouteListener> = {}): RouteListener {
  const pools = { pods: 'cluster', others: 'cluster' } as const
  return { ip: at.ip, port: at.port, pools, sourceRanges: undefined, ...overrides }
}

export async function serve(forwarder: Forwarder, ...routes: readonly Route[]) {
  return forwarder.apply(new Map(routes.map((route) => [route.id, route])))
}

/** A backend that sends its name to every client, then nothing; and its connected clients. */
export async function namedBackend(name: string) {
  const clients = new Set<Socket>()
  const address = await backend((socket) => {
    clients.add(socket)
    socket.once('close', () => clients.delete(socket))
    socket.resume().write(name)
  })
  return { ...address, name, clients }
}

export async function backend(
  onClient: (socket: Socket) => void,
  host: string = LOOPBACK,
): Promise<Endpoint> {
  const sockets = new Set<Socket>()
  const { server, address } = await serveTcp(
    (socket) => {
      sockets.add(socket)
      onClient(socket)
    },
    { host },
  )
  onTestFinished(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return address
}

/** A client that is connecting; `from` is its address. */
export function connectFrom(from: string, { ip: host, port }: Endpoint): Socket {
  const socket = connect({ host, port, localAddress: from, allowHalfOpen: true })
  onTestFinished(() => void socket.destroy())
  return socket.on('error', () => undefined)
}

export function connectTo(at: Endpoint): Socket {
  return connectFrom(familyOf(at.ip) === 6 ? '::1' : LOOPBACK, at)
}

/** The name of the backend that a new client gets, and the client. */
export async function visit(at: Endpoint, from: string = LOOPBACK) {
  const client = connectFrom(from, at)
  const [name] = (await once(client, 'data')) as [Buffer]
  return { client, name: name.toString() }
}

/** Names of the backends that so many clients get, one after the other; all of them leave. */
export async function visitTimes(count: number, at: Endpoint, from: string = LOOPBACK) {
  const names: string[] = []
  while (names.length < count) {
    const { client, name } = await visit(at, from)
    client.resetAndDestroy()
    names.push(name)
  }
  return names
}

/** One client connected through a new forwarder, and its connection at the backend. */
export async function connected(open: OpenTestForwarder, limits?: Partial<ForwarderLimits>) {
  const accepted = Promise.withResolvers<Socket>()
  const target = await backend(accepted.resolve)
  const forwarder = await open(limits)
  const route = routeTo(await freeListener(), [target])
  await serve(forwarder, route)
  const client = connectTo(listenerOf(route))
  const server = await accepted.promise
  return { forwarder, route, client, server }
}

export function listenerOf({ listeners: [first] }: Route): Endpoint {
  if (first === undefined) throw new TypeError('a route without a listener')
  return first
}

/** An address at which no process listens at the moment. */
export async function freeListener(host: string = LOOPBACK): Promise<Endpoint> {
  const { server, address } = await serveTcp(() => undefined, { host })
  server.close()
  await once(server, 'close')
  return address
}

/** Sends so many random mebibytes and the end of stream; resolves to their hash when all are written. */
export async function sendRandom(socket: Socket, mebibytes: number): Promise<string> {
  const hash = createHash('sha256')
  for (let count = 0; count < mebibytes; count++) {
    const chunk = randomBytes(1 << 20)
    hash.update(chunk)
    if (!socket.write(chunk)) await once(socket, 'drain')
  }
  socket.end()
  return hash.digest('hex')
}

/** Hash and number of all bytes that come until the end of stream. */
export async function receiveAll(socket: Socket) {
  const hash = createHash('sha256')
  let bytes = 0
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    hash.update(chunk as Buffer)
    bytes += (chunk as Buffer).length
  }
  return { hash: hash.digest('hex'), bytes }
}

/** Whether each end receives what the other one sends, up to the end of stream. */
export async function isAlive({ client, server }: { client: Socket; server: Socket }) {
  const heard = Promise.all([hear(client), hear(server)])
  client.end('ping')
  server.end('pong')
  return (await heard).join() === 'pong,ping'
}
