import { createSocket, type RemoteInfo, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { isIPv6 } from 'node:net'
import { DatagramBatch } from '../../kernel/sockets/datagram-batch.ts'
import { ipKey, ipOf, type SocketAddress } from '../../kernel/sockets/socket-address.ts'
import { Sockets } from '../../kernel/sockets/sockets.ts'
import type { Syscalls } from '../../kernel/sockets/syscalls.ts'
import { RCODE } from '../wire/numbers.ts'
import { readQuery } from '../wire/query.ts'
import { bareAnswer, datagramLimit, encodeResponse, truncatedResponse } from '../wire/response.ts'
import type { ListenAddress, ServerParts } from './server-parts.ts'
import { countRefusal } from './statistics.ts'

/** The limit of questions that wait for other servers; further ones are refused at once. */
const MAX_WAITING = 2_000

/** Batches that are served before yielding to the event loop. */
const MAX_BATCHES = 16
/** Addresses whose text is kept; a full table is emptied. */
const MAX_ADDRESSES = 4_096

/** Bytes of the receive buffer, in which a burst of questions waits while the process is busy. */
const RECEIVE_BUFFER = 4 * 1_024 * 1_024

/** Answers questions in datagrams. */
export class UdpServer {
  readonly #socket: Socket
  readonly #service: DatagramService

  private constructor(socket: Socket, service: DatagramService) {
    this.#socket = socket
    this.#service = service
  }

  /** If `sys` is undefined, it reads one datagram at a time. Rejects as `openDatagramSocket` does. */
  static async open(
    parts: ServerParts,
    address: ListenAddress,
    sys: Syscalls | undefined,
  ): Promise<UdpServer> {
    const { socket, native } = await openDatagramSocket(address, sys)
    const service = new DatagramService(parts)
    const batched =
      native && new BatchedDatagrams(new DatagramBatch(native.sys), native.descriptor, service)
    // Node reads one datagram at a time. Reading those that wait after it in batches costs a tenth as much.
    socket.on('message', (message, from) => {
      service.receive(message, remoteClient(socket, from))
      batched?.serve()
    })
    return new UdpServer(socket, service)
  }

  get port(): number {
    return this.#socket.address().port
  }

  /** Closes the socket. Questions that wait for another server get no answer any more. */
  async close(): Promise<void> {
    this.#service.close()
    await new Promise<void>((resolve) => {
      this.#socket.close(resolve)
    })
  }
}

function remoteClient(socket: Socket, { address, port }: RemoteInfo): DatagramClient {
  return lastingClient(address, (response) =>
    socket.send(response, 0, response.length, port, address),
  )
}

function lastingClient(address: string, send: DatagramClient['send']): DatagramClient {
  const client: DatagramClient = { address, send, kept: () => client }
  return client
}

/** A Node socket, which reports when datagrams are waiting. */
interface DatagramSocket {
  readonly socket: Socket
  /** The same socket for system calls; absent where Node cannot make any. */
  readonly native?: { readonly sys: Syscalls; readonly descriptor: number }
}

/** Opens a socket for datagrams. Rejects with the system's error, or NP_KERNEL_SOCKET, when the address cannot be used. */
async function openDatagramSocket(
  { ip, port }: ListenAddress,
  sys: Syscalls | undefined,
): Promise<DatagramSocket> {
  const socket = createSocket({
    type: isIPv6(ip) ? 'udp6' : 'udp4',
    ipv6Only: isIPv6(ip),
    // Answers are sent to addresses; without this, each would wait for a name lookup.
    lookup: (host, _options, callback) => callback(null, host, isIPv6(host) ? 6 : 4),
  })
  const listening = once(socket, 'listening')
  const native = sys && { sys, descriptor: new Sockets(sys).bindDatagrams(ip, port) }
  if (native === undefined) socket.bind({ address: ip, port, exclusive: true })
  else socket.bind({ fd: native.descriptor })
  await listening
  socket.setRecvBufferSize(RECEIVE_BUFFER)
  // An error of one datagram, such as a client that is gone, must not affect others.
  socket.on('error', () => undefined)
  return native === undefined ? { socket } : { socket, native }
}

/** Serves the waiting datagrams of a socket in batches. */
class BatchedDatagrams {
  readonly #batch: DatagramBatch
  readonly #socket: number
  readonly #service: DatagramService
  readonly #client: BatchClient

  constructor(batch: DatagramBatch, socket: number, service: DatagramService) {
    this.#batch = batch
    this.#socket = socket
    this.#service = service
    this.#client = new BatchClient(batch, socket)
  }

  /** Serves until no datagram waits, or until it must yield to the event loop. */
  serve(): void {
    for (let turn = 0; turn < MAX_BATCHES; turn += 1) {
      const count = this.#batch.receive(this.#socket)
      for (let index = 0; index < count; index += 1) {
        this.#client.index = index
        this.#service.receive(this.#batch.message(index), this.#client)
      }
      if (count > 0) this.#batch.send(this.#socket)
      if (count < this.#batch.size) return
    }
  }
}

/** The sender of the datagram `index` of the batch: one object for all of them. */
class BatchClient implements DatagramClient {
  index = 0
  readonly #batch: DatagramBatch
  readonly #socket: number
  readonly #addresses = new Map<string, string>()

  constructor(batch: DatagramBatch, socket: number) {
    this.#batch = batch
    this.#socket = socket
  }

  get address(): string {
    const sender = this.#batch.sender(this.index)
    const key = ipKey(sender)
    const known = this.#addresses.get(key)
    if (known !== undefined) return known
    if (this.#addresses.size >= MAX_ADDRESSES) this.#addresses.clear()
    const text = ipOf(sender)
    this.#addresses.set(key, text)
    return text
  }

  send(response: Buffer): void {
    this.#batch.answer(this.index, response)
  }

  kept(): DatagramClient {
    const to: SocketAddress = Uint8Array.from(this.#batch.sender(this.index))
    return lastingClient(
      this.address,
      (response) => void this.#batch.sendTo(this.#socket, response, to),
    )
  }
}

/** Answers datagrams, however they were read, within the limits for their clients. */
class DatagramService {
  readonly #parts: ServerParts
  #waiting = 0
  #isClosed = false

  constructor(parts: ServerParts) {
    this.#parts = parts
  }

  /** From now on sends nothing: the socket is about to be closed, and its descriptor may be that of another file then. */
  close(): void {
    this.#isClosed = true
  }

  /** Serves one datagram. An error in answering it does not end the others. */
  receive(message: Buffer, client: DatagramClient): void {
    try {
      this.#answer(message, client)
    } catch (error) {
      this.#fail(error)
    }
  }

  #answer(message: Buffer, client: DatagramClient): void {
    const { networks, responder, statistics } = this.#parts
    statistics.questions.udp += 1
    if (!networks.contain(client.address)) return this.#refuse(message, client, 'network')
    const response = responder.respond(message, datagramLimit)
    if (!(response instanceof Promise)) return this.#send(response, message.length, client)
    if (this.#waiting >= MAX_WAITING) {
      response.catch((error: unknown) => this.#fail(error))
      return this.#refuse(message, client, 'overload')
    }
    void this.#answerLater(response, message.length, client.kept())
  }

  async #answerLater(
    response: Promise<Buffer | undefined>,
    length: number,
    client: DatagramClient,
  ): Promise<void> {
    this.#waiting += 1
    try {
      this.#send(await response, length, client)
    } catch (error) {
      this.#fail(error)
    } finally {
      this.#waiting -= 1
    }
  }

  #fail(error: unknown): void {
    this.#parts.statistics.failures += 1
    this.#parts.onError(error)
  }

  #refuse(message: Buffer, client: DatagramClient, reason: 'network' | 'overload'): void {
    countRefusal(this.#parts.statistics, reason)
    const query = readQuery(message)
    if ('reason' in query) return
    const rcode = reason === 'network' ? RCODE.refused : RCODE.serverFailure
    const options = { limit: datagramLimit(query), recursionAvailable: false, turn: 0 }
    client.send(encodeResponse(query, bareAnswer(rcode), options))
  }

  /** `length`: bytes of the question. */
  #send(response: Buffer | undefined, length: number, client: DatagramClient): void {
    if (response === undefined || this.#isClosed) return
    const { limit, statistics } = this.#parts
    if (limit.allows(client.address, length, response.length)) return client.send(response)
    statistics.limited += 1
    client.send(truncatedResponse(response))
  }
}

/** Who sent a datagram; valid until the next one is read. */
interface DatagramClient {
  /** Its IP address, as text. */
  readonly address: string
  send(response: Buffer): void
  /** The same client, for a response that comes later. */
  kept(): DatagramClient
}
