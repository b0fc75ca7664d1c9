import { createSocket, type RemoteInfo, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { isIPv6 } from 'node:net'
import { RCODE } from '../wire/numbers.ts'
import { readQuery } from '../wire/query.ts'
import { bareAnswer, datagramLimit, encodeResponse, truncatedResponse } from '../wire/response.ts'
import type { ListenAddress, ServerParts } from './server-parts.ts'
import { countRefusal } from './statistics.ts'

/** Questions that wait for other servers at most; further ones are refused at once. */
const MAX_WAITING = 2_000
/** A burst of questions waits in the kernel while the process is busy. */
const RECEIVE_BUFFER = 4 * 1_024 * 1_024

/** Answers questions in datagrams. */
export class UdpServer {
  readonly #parts: ServerParts
  readonly #socket: Socket
  #waiting = 0

  private constructor(parts: ServerParts, socket: Socket) {
    this.#parts = parts
    this.#socket = socket
  }

  /** Rejects with the system's error when the address cannot be used. */
  static async open(parts: ServerParts, { ip, port }: ListenAddress): Promise<UdpServer> {
    const socket = createSocket({
      type: isIPv6(ip) ? 'udp6' : 'udp4',
      ipv6Only: isIPv6(ip),
      // Answers go to addresses: without this, each would wait for a lookup.
      lookup: (host, _options, callback) => callback(null, host, isIPv6(host) ? 6 : 4),
    })
    const server = new UdpServer(parts, socket)
    const listening = once(socket, 'listening')
    socket.bind({ address: ip, port, exclusive: true })
    await listening
    socket.setRecvBufferSize(RECEIVE_BUFFER)
    socket.on('message', (message, from) => server.#receive(message, from))
    // An error of one datagram, such as a client that is gone, concerns no other one.
    socket.on('error', () => undefined)
    return server
  }

  get port(): number {
    return this.#socket.address().port
  }

  async close(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#socket.close(resolve)
    })
  }

  /** An error in answering one message must not end the others. */
  #receive(message: Buffer, from: RemoteInfo): void {
    try {
      this.#answer(message, from)
    } catch (error) {
      this.#fail(error)
    }
  }

  #answer(message: Buffer, from: RemoteInfo): void {
    const { networks, responder, statistics } = this.#parts
    statistics.questions.udp += 1
    if (!networks.contain(from.address)) return this.#refuse(message, from, 'network')
    const response = responder.respond(message, datagramLimit)
    if (!(response instanceof Promise)) return this.#send(response, message, from)
    if (this.#waiting >= MAX_WAITING) return this.#refuse(message, from, 'overload')
    void this.#answerLater(response, message, from)
  }

  async #answerLater(
    response: Promise<Buffer | undefined>,
    message: Buffer,
    from: RemoteInfo,
  ): Promise<void> {
    this.#waiting += 1
    try {
      this.#send(await response, message, from)
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

  #refuse(message: Buffer, from: RemoteInfo, reason: 'network' | 'overload'): void {
    countRefusal(this.#parts.statistics, reason)
    const query = readQuery(message)
    if ('reason' in query) return
    const rcode = reason === 'network' ? RCODE.refused : RCODE.serverFailure
    const options = { limit: datagramLimit(query), recursionAvailable: false, turn: 0 }
    this.#write(encodeResponse(query, bareAnswer(rcode), options), from)
  }

  #send(response: Buffer | undefined, question: Buffer, from: RemoteInfo): void {
    if (response === undefined) return
    const { limit, statistics } = this.#parts
    if (limit.allows(from.address, question.length, response.length))
      return this.#write(response, from)
    statistics.limited += 1
    this.#write(truncatedResponse(question, response), from)
  }

  #write(response: Buffer, { port, address }: RemoteInfo): void {
    this.#socket.send(response, 0, response.length, port, address)
  }
}
