import { RCODE } from '../wire/numbers.ts'
import { readQuery } from '../wire/query.ts'
import { bareAnswer, datagramLimit, encodeResponse, truncatedResponse } from '../wire/response.ts'
import type { DatagramClient } from './datagram-client.ts'
import type { ServerParts } from './server-parts.ts'
import { countRefusal } from './statistics.ts'

/** Questions that wait for other servers at most; further ones are refused at once. */
const MAX_WAITING = 2_000

/** Who is answered in datagrams, and how much: the same for each way of reading them. */
export class DatagramService {
  readonly #parts: ServerParts
  #waiting = 0

  constructor(parts: ServerParts) {
    this.#parts = parts
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
    if (this.#waiting >= MAX_WAITING) return this.#refuse(message, client, 'overload')
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
    if (response === undefined) return
    const { limit, statistics } = this.#parts
    if (limit.allows(client.address, length, response.length)) return client.send(response)
    statistics.limited += 1
    client.send(truncatedResponse(response))
  }
}
