import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { connect, isIPv6 } from 'node:net'
import { type DecodedPacket, decode, encode, type Packet } from 'dns-packet'
import { framed, MessageFramer } from '../server/tcp-server.ts'

/** The server that a test queries. */
export interface Server {
  readonly address?: string
  readonly port: number
}

/** A question as most clients send it; a test replaces the part that it is about. */
export function question(type: string, name: string, parts: Packet = {}): Buffer {
  return encode({
    type: 'query',
    id: 4_711,
    flags: 0x0100,
    questions: [{ type: type as 'A', name }],
    ...parts,
  })
}

/** Sends a message in a datagram, and awaits the next one. */
export async function queryUdp(
  { address = '127.0.0.1', port }: Server,
  message: Buffer,
): Promise<Buffer> {
  const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4')
  try {
    const received = once(socket, 'message')
    socket.send(message, port, address)
    const [response] = (await received) as [Buffer]
    return response
  } finally {
    socket.close()
  }
}

/** Sends messages over one connection, and awaits as many. */
export async function queryTcp(
  { address = '127.0.0.1', port }: Server,
  messages: readonly Buffer[],
): Promise<readonly Buffer[]> {
  const socket = connect({ host: address, port })
  const framer = new MessageFramer()
  const received: Buffer[] = []
  try {
    socket.write(Buffer.concat(messages.map(framed)))
    for await (const bytes of socket) {
      received.push(...framer.push(bytes as Buffer))
      if (received.length >= messages.length) break
    }
    return received
  } finally {
    socket.destroy()
  }
}

/** A question and its answer, decoded. */
export async function lookUp(server: Server, type: string, name: string): Promise<DecodedPacket> {
  return decode(await queryUdp(server, question(type, name)))
}
