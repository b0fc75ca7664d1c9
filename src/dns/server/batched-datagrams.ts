import type { DatagramBatch } from '../../kernel/sockets/datagram-batch.ts'
import { ipKey, ipOf, type SocketAddress } from '../../kernel/sockets/socket-address.ts'
import type { DatagramClient } from './datagram-client.ts'
import type { DatagramService } from './datagram-service.ts'

/** Batches that are served before the rest of the process has its turn. */
const MAX_BATCHES = 16
/** Addresses whose text is kept; a full table is emptied. */
const MAX_KNOWN = 4_096

/** Serves what waits at a socket, many datagrams at once. */
export class BatchedDatagrams {
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

  /** Serves until nothing waits, or others must have their turn. */
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
  readonly #known = new Map<string, string>()

  constructor(batch: DatagramBatch, socket: number) {
    this.#batch = batch
    this.#socket = socket
  }

  get address(): string {
    const sender = this.#batch.sender(this.index)
    const key = ipKey(sender)
    const known = this.#known.get(key)
    if (known !== undefined) return known
    if (this.#known.size >= MAX_KNOWN) this.#known.clear()
    const text = ipOf(sender)
    this.#known.set(key, text)
    return text
  }

  send(response: Buffer): void {
    this.#batch.answer(this.index, response)
  }

  kept(): DatagramClient {
    const to: SocketAddress = Uint8Array.from(this.#batch.sender(this.index))
    const { address } = this
    const client: DatagramClient = {
      address,
      send: (response) => void this.#batch.sendTo(this.#socket, response, to),
      kept: () => client,
    }
    return client
  }
}
