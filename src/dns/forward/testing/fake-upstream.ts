import { createSocket, type RemoteInfo, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { type AddressInfo, type Socket as Connection, createServer, type Server } from 'node:net'
import { type Answer, type DecodedPacket, decode, encode, type Packet } from 'dns-packet'
import type { Upstream } from '../upstream/upstream.ts'

/** A query as the fake upstream received it. */
export interface ReceivedQuery {
  readonly transport: 'udp' | 'tcp'
  readonly packet: DecodedPacket
  /** The message, without the length that precedes it over TCP. */
  readonly bytes: Buffer
  /** The socket of the client. */
  readonly from: { readonly address: string; readonly port: number }
  /** Sends a message to the client: as a datagram, or with its length before it. */
  readonly reply: (message: Buffer) => void
  /** The UDP socket of the fake upstream, for queries over TCP as well. */
  readonly udp: Socket
  /** The connection over which the query came; undefined: it came in a datagram. */
  readonly connection: Connection | undefined
}

/** What a fake upstream does with a query. */
export type Behaviour = (query: ReceivedQuery) => void

/** A DNS server on loopback with UDP and TCP at one port. */
export interface FakeUpstream extends Upstream, AsyncDisposable {
  readonly queries: ReceivedQuery[]
  behave(behaviour: Behaviour): void
  /** Resolves when it has received so many queries. */
  received(count: number): Promise<void>
  close(): Promise<void>
}

/** Opens one; without a behaviour it leaves queries without a reply. */
export async function openFakeUpstream(
  behaviour: Behaviour = () => undefined,
  { address = '127.0.0.1' } = {},
): Promise<FakeUpstream> {
  const { udp, tcp } = await openBoth(address)
  const queries: ReceivedQuery[] = []
  const waiting = new Set<() => void>()
  let behave = behaviour
  const receive = (query: ReceivedQuery): void => {
    queries.push(query)
    for (const check of waiting) check()
    behave(query)
  }
  udp.on('message', (bytes, from) => receive(datagram(udp, bytes, from)))
  const connections = new Set<Connection>()
  tcp.on('connection', (connection) => {
    connections.add(connection)
    connection.on('error', () => undefined)
    connection.on('data', (chunk: Buffer) => receive(ofConnection(udp, connection, chunk)))
  })
  const close = (): Promise<void> => closeAll(udp, tcp, connections)
  return {
    address,
    port: udp.address().port,
    queries,
    close,
    behave: (next) => void (behave = next),
    received: (count) => until(() => queries.length >= count, waiting),
    [Symbol.asyncDispose]: close,
  }
}

/** The bytes of a response with the query's id and question. */
export function response(query: ReceivedQuery, packet: Packet & { rcode?: number } = {}): Buffer {
  const { id, questions } = query.packet
  const { rcode = 0, flags = 0, ...rest } = packet
  return encode({
    type: 'response',
    id,
    questions,
    flags: flags | 0x0180 | rcode,
    ...rest,
  })
}

/** Replies to every query with these records and this code. */
export function replying(packet: Packet & { rcode?: number } = {}): Behaviour {
  return (query) => query.reply(response(query, packet))
}

/** An A record. */
export function a(name: string, data: string, ttl = 300): Answer {
  return { name, type: 'A', class: 'IN', ttl, data }
}

/** An SOA record of a zone, whose MINIMUM is `minimum` seconds. */
export function soa(name: string, minimum: number, ttl = 3600): Answer {
  const names = { mname: `ns.${name}`, rname: `root.${name}` }
  const data = { ...names, serial: 1, refresh: 2, retry: 3, expire: 4, minimum }
  return { name, type: 'SOA', class: 'IN', ttl, data }
}

/** Listens on UDP and TCP at one port. Another process may have the UDP port that is free for TCP, so it tries several. */
async function openBoth(address: string): Promise<{ udp: Socket; tcp: Server }> {
  for (let left = 20; ; left--) {
    const tcp = createServer().listen(0, address)
    await once(tcp, 'listening')
    const { port } = tcp.address() as AddressInfo
    const udp = createSocket(address.includes(':') ? 'udp6' : 'udp4').bind(port, address)
    try {
      await once(udp, 'listening')
      return { udp, tcp }
    } catch (error) {
      tcp.close()
      udp.close()
      if (left === 0) throw error
    }
  }
}

function datagram(udp: Socket, bytes: Buffer, from: RemoteInfo): ReceivedQuery {
  const reply = (message: Buffer): void => udp.send(message, from.port, from.address)
  return { transport: 'udp', packet: decode(bytes), bytes, from, reply, udp, connection: undefined }
}

/** The query that a chunk of a connection holds: each chunk is one whole message with its length. */
function ofConnection(udp: Socket, connection: Connection, chunk: Buffer): ReceivedQuery {
  const bytes = chunk.subarray(2)
  const from = { address: connection.remoteAddress ?? '', port: connection.remotePort ?? 0 }
  const reply = (message: Buffer): void => {
    const length = Buffer.alloc(2)
    length.writeUInt16BE(message.length)
    connection.write(Buffer.concat([length, message]))
  }
  return { transport: 'tcp', packet: decode(bytes), bytes, from, reply, udp, connection }
}

async function until(isMet: () => boolean, waiting: Set<() => void>): Promise<void> {
  if (isMet()) return
  await new Promise<void>((resolve) => {
    const check = (): void => {
      if (!isMet()) return
      waiting.delete(check)
      resolve()
    }
    waiting.add(check)
  })
}

async function closeAll(udp: Socket, tcp: Server, connections: Set<Connection>): Promise<void> {
  if (!tcp.listening) return
  for (const connection of connections) connection.destroy()
  await Promise.all([
    new Promise<void>((resolve) => void udp.close(resolve)),
    new Promise<void>((resolve) => void tcp.close(() => resolve())),
  ])
}
