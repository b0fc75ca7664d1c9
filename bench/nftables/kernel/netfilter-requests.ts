import {
  decodeMessages,
  encodeMessage,
  errnoOf,
  NLM_F_ACK,
  NLM_F_DUMP,
  NLM_F_DUMP_INTR,
  NLM_F_REQUEST,
  NLMSG_DONE,
  NLMSG_ERROR,
  type OutgoingMessage,
} from '../../../src/kernel/netlink/message.ts'
import { NETLINK_NETFILTER } from '../../../src/kernel/netlink/transport.ts'
import { BlockingSocket } from '../../lab/blocking-socket.ts'

const TIMEOUT_MS = 30_000

/** The datagram of one transaction, and which of its messages is acknowledged. */
export interface EncodedTransaction {
  readonly bytes: Buffer
  readonly acknowledged: number
}

/** Finds the message of a transaction that requests an acknowledgement. */
export function encodedTransaction(bytes: Buffer): EncodedTransaction {
  const last = [...decodeMessages(bytes)].findLast(({ flags }) => (flags & NLM_F_ACK) !== 0)
  if (last === undefined) throw new Error('a transaction requests no acknowledgement')
  return { bytes, acknowledged: last.seq }
}

/** nf_tables of another namespace over blocking system calls, the fastest way to get an answer. */
export class NetfilterRequests {
  readonly #socket: BlockingSocket
  #seq = 0

  constructor(namespace: string) {
    const protocol = NETLINK_NETFILTER
    this.#socket = new BlockingSocket({ namespace, protocol, timeoutMs: TIMEOUT_MS })
  }

  /** Sends one transaction and waits until it is acknowledged; throws when it is refused. */
  transact({ bytes, acknowledged }: EncodedTransaction): void {
    this.#socket.send(bytes)
    for (;;) {
      for (const message of decodeMessages(this.#answer())) {
        if (message.type !== NLMSG_ERROR) continue
        const errno = errnoOf(message)
        if (errno !== 0) throw new Error(`a transaction was refused: errno ${errno}`)
        if (message.seq === acknowledged) return
      }
    }
  }

  /** Reads one object to its acknowledgement. */
  one(request: OutgoingMessage): void {
    this.#request(request, NLM_F_ACK)
  }

  /** Reads a list to its end; starts again if any table was changed meanwhile, as nft does. */
  list(request: OutgoingMessage): void {
    while (this.#request(request, NLM_F_DUMP) === 'interrupted');
  }

  close(): void {
    this.#socket.close()
  }

  #request({ type, payload }: OutgoingMessage, flags: number): 'done' | 'interrupted' {
    const seq = ++this.#seq
    this.#socket.send(encodeMessage({ type, flags: flags | NLM_F_REQUEST, payload }, seq))
    let isInterrupted = false
    for (;;) {
      for (const message of decodeMessages(this.#answer())) {
        if (message.seq !== seq) continue
        isInterrupted ||= (message.flags & NLM_F_DUMP_INTR) !== 0
        if (message.type !== NLMSG_ERROR && message.type !== NLMSG_DONE) continue
        if (errnoOf(message) !== 0) throw new Error(`a list was refused: errno ${errnoOf(message)}`)
        return isInterrupted ? 'interrupted' : 'done'
      }
    }
  }

  #answer(): Buffer {
    const datagram = this.#socket.receive()
    if (datagram === undefined) throw new Error(`nf_tables: no answer in ${TIMEOUT_MS / 1_000} s`)
    return datagram
  }
}
