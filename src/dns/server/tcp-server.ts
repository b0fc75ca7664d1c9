import { once } from 'node:events'
import { type AddressInfo, createServer, isIPv6, type Server, type Socket } from 'node:net'
import { MAX_MESSAGE } from '../wire/numbers.ts'
import type { ListenAddress, ServerParts } from './server-parts.ts'
import { countRefusal } from './statistics.ts'

const LENGTH_BYTES = 2

/** Connections at once, of all clients and of one. */
const MAX_CONNECTIONS = 2_000
const MAX_CONNECTIONS_OF_CLIENT = 200
/** Milliseconds after which a connection without a question is closed (RFC 7766 §6.2.3). */
const IDLE_MS = 10_000
/** The limit of unanswered questions of one connection; at the limit the connection is not read. */
const MAX_WAITING = 100

/** Answers questions over TCP, each as soon as its answer is known. */
export class TcpServer {
  readonly #parts: ServerParts
  readonly #server: Server
  readonly #connections = new Set<Socket>()
  readonly #ofClient = new Map<string, number>()

  private constructor(parts: ServerParts, server: Server) {
    this.#parts = parts
    this.#server = server
    server.on('connection', (socket) => this.#accept(socket))
  }

  /** Rejects with the system's error when the address cannot be used. */
  static async open(parts: ServerParts, { ip, port }: ListenAddress): Promise<TcpServer> {
    const server = createServer({ noDelay: true, allowHalfOpen: true })
    server.maxConnections = MAX_CONNECTIONS
    const opened = new TcpServer(parts, server)
    server.on('drop', () => {
      parts.statistics.refusedConnections += 1
    })
    server.listen({ host: ip, port, ipv6Only: isIPv6(ip), exclusive: true })
    await once(server, 'listening')
    return opened
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    for (const socket of this.#connections) socket.destroy()
    await closed
  }

  #accept(socket: Socket): void {
    const { statistics, networks } = this.#parts
    const client = socket.remoteAddress ?? ''
    const open = (this.#ofClient.get(client) ?? 0) + 1
    if (!networks.contain(client) || open > MAX_CONNECTIONS_OF_CLIENT) {
      if (open <= MAX_CONNECTIONS_OF_CLIENT) countRefusal(statistics, 'network')
      statistics.refusedConnections += 1
      socket.on('error', () => undefined)
      socket.destroy()
      return
    }
    statistics.connections += 1
    this.#connections.add(socket)
    this.#ofClient.set(client, open)
    socket.setTimeout(IDLE_MS, () => socket.destroy())
    socket.on('error', () => socket.destroy())
    socket.on('close', () => this.#forget(socket, client))
    this.#serve(socket)
  }

  #forget(socket: Socket, client: string): void {
    this.#connections.delete(socket)
    const open = (this.#ofClient.get(client) ?? 1) - 1
    if (open === 0) this.#ofClient.delete(client)
    else this.#ofClient.set(client, open)
  }

  #serve(socket: Socket): void {
    const { responder, statistics, onError } = this.#parts
    const failed = (error: unknown): void => {
      statistics.failures += 1
      onError(error)
      socket.destroy()
    }
    const framer = new MessageFramer()
    let waiting = 0
    let isEnded = false
    const answered = (response: Buffer | undefined): void => {
      waiting -= 1
      if (response !== undefined && !socket.destroyed) socket.write(framed(response))
      if (isEnded && waiting === 0) socket.end()
      if (waiting < MAX_WAITING && socket.writableLength < MAX_MESSAGE) socket.resume()
    }
    socket.on('drain', () => socket.resume())
    // A client that sends nothing more still reads the answers to what it sent.
    socket.on('end', () => {
      isEnded = true
      if (waiting === 0) socket.end()
    })
    socket.on('data', (bytes: Buffer) => {
      for (const message of framer.push(bytes)) {
        statistics.questions.tcp += 1
        waiting += 1
        void Promise.try(() => responder.respond(message, () => MAX_MESSAGE)).then(answered, failed)
      }
      if (waiting >= MAX_WAITING || socket.writableNeedDrain) socket.pause()
    })
  }
}

/** Cuts a stream of bytes into messages: each has its length, of two bytes, before it (RFC 1035 §4.2.2). */
export class MessageFramer {
  #pending: Buffer = Buffer.alloc(0)

  /** The messages that are complete with these bytes, in order. */
  push(bytes: Buffer): readonly Buffer[] {
    this.#pending = this.#pending.length === 0 ? bytes : Buffer.concat([this.#pending, bytes])
    const messages: Buffer[] = []
    while (this.#pending.length >= LENGTH_BYTES) {
      const end = LENGTH_BYTES + this.#pending.readUInt16BE(0)
      if (this.#pending.length < end) break
      messages.push(this.#pending.subarray(LENGTH_BYTES, end))
      this.#pending = this.#pending.subarray(end)
    }
    return messages
  }
}

/** A message with its length before it. */
export function framed(message: Buffer): Buffer {
  const frame = Buffer.allocUnsafe(LENGTH_BYTES + message.length)
  frame.writeUInt16BE(message.length, 0)
  message.copy(frame, LENGTH_BYTES)
  return frame
}
