import type { Clock } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'
import {
  decodeMessages,
  encodeMessage,
  errnoOf,
  type NetlinkMessage,
  NLM_F_ACK,
  NLM_F_DUMP,
  NLM_F_DUMP_INTR,
  NLM_F_REQUEST,
  NLMSG_DONE,
  NLMSG_ERROR,
  type OutgoingMessage,
} from './message.ts'
import type { OpenTransport, Transport } from './transport.ts'

const TIMEOUT_MS = 5000
/** After an overrun: nothing may be asked before the queue is empty, or its answer is dropped too. */
const DRAIN_MS = 20
const ATTEMPTS = 6

type Outcome = 'done' | 'interrupted' | 'overrun'

interface Pending {
  readonly first: number
  readonly last: number
  readonly onMessage: (message: NetlinkMessage) => void
  /** errno of each message that failed, by its place in the request. */
  readonly errors: Map<number, number>
  interrupted: boolean
  readonly settle: (outcome: Outcome) => void
  readonly fail: (error: Error) => void
  readonly restartTimer: () => void
}

/**
 * Requests and answers over a netlink socket, one request at a time. A refusal
 * by the kernel is an errno; time-outs and lost answers throw NP_KERNEL_NETLINK.
 * A dump that changed while it ran, and any request whose answer was lost, is
 * repeated: so only requests may be sent that can be repeated.
 */
export class NetlinkSession {
  readonly #transport: Transport
  readonly #clock: Clock
  #seq = 0
  #pending: Pending | undefined
  #tail: Promise<unknown> = Promise.resolve()

  constructor(open: OpenTransport, clock: Clock) {
    this.#clock = clock
    this.#transport = open({
      onDatagram: (bytes) => this.#receive(bytes),
      onOverrun: () => this.#pending?.settle('overrun'),
    })
  }

  /**
   * Sends messages in one datagram and waits for all; the result holds the
   * errno of those that failed. Only the last asks for an acknowledgement, so
   * that thousands of them do not overrun our own socket.
   */
  async batch(messages: readonly OutgoingMessage[]): Promise<ReadonlyMap<number, number>> {
    const last = messages.length - 1
    if (last < 0) return new Map()
    return this.#exclusively(messages, {
      flags: (index) => NLM_F_REQUEST | (index === last ? NLM_F_ACK : 0),
      onMessage: () => undefined,
    })
  }

  /**
   * Visits every object of a dump and returns the errno, 0 when complete. When
   * the dump had to be repeated, objects are visited again.
   */
  async dump(message: OutgoingMessage, visit: (message: NetlinkMessage) => void): Promise<number> {
    const errors = await this.#exclusively([message], {
      flags: () => NLM_F_REQUEST | NLM_F_DUMP,
      onMessage: visit,
    })
    return errors.get(0) ?? 0
  }

  close(): void {
    this.#pending?.fail(lost('the socket was closed'))
    this.#transport.close()
  }

  #exclusively(messages: readonly OutgoingMessage[], how: Handling) {
    const result = this.#tail.then(() => this.#repeat(messages, how))
    this.#tail = result.catch(() => undefined)
    return result
  }

  async #repeat(messages: readonly OutgoingMessage[], how: Handling) {
    this.#transport.hold(true)
    try {
      return await this.#attempts(messages, how)
    } finally {
      this.#transport.hold(false)
    }
  }

  async #attempts(messages: readonly OutgoingMessage[], how: Handling) {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const errors = new Map<number, number>()
      const outcome = await this.#attempt(messages, { ...how, errors })
      if (outcome === 'done') return errors
      if (outcome === 'overrun') await this.#pause(DRAIN_MS * attempt)
    }
    throw lost(`no undisturbed answer in ${ATTEMPTS} attempts`)
  }

  async #attempt(messages: readonly OutgoingMessage[], how: Handling & Errors): Promise<Outcome> {
    const first = this.#seq + 1
    const bytes = messages.map((message, index) => {
      return encodeMessage({ ...message, flags: message.flags | how.flags(index) }, ++this.#seq)
    })
    let cancel = () => undefined as void
    try {
      return await new Promise<Outcome>((resolve, reject) => {
        const restartTimer = () => {
          cancel()
          cancel = this.#clock.after(TIMEOUT_MS, () =>
            reject(lost(`no answer in ${TIMEOUT_MS} ms`)),
          )
        }
        restartTimer()
        const { onMessage, errors } = how
        const range = { first, last: this.#seq, interrupted: false }
        this.#pending = { ...range, onMessage, errors, settle: resolve, fail: reject, restartTimer }
        this.#transport.send(Buffer.concat(bytes)).catch(reject)
      })
    } finally {
      cancel()
      this.#pending = undefined
    }
  }

  #receive(datagram: Buffer): void {
    const pending = this.#pending
    if (pending === undefined) return
    pending.restartTimer()
    for (const message of decodeMessages(datagram)) {
      if (message.seq < pending.first || message.seq > pending.last) continue
      if ((message.flags & NLM_F_DUMP_INTR) !== 0) pending.interrupted = true
      if (message.type === NLMSG_ERROR || message.type === NLMSG_DONE) finish(pending, message)
      else pending.onMessage(message)
    }
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#clock.after(ms, resolve)
    })
  }
}

interface Handling {
  readonly flags: (index: number) => number
  readonly onMessage: (message: NetlinkMessage) => void
}

interface Errors {
  readonly errors: Map<number, number>
}

function finish(pending: Pending, message: NetlinkMessage): void {
  const errno = errnoOf(message)
  if (errno !== 0) pending.errors.set(message.seq - pending.first, errno)
  if (message.seq === pending.last) pending.settle(pending.interrupted ? 'interrupted' : 'done')
}

function lost(reason: string): NodeProxyError {
  return new NodeProxyError('NP_KERNEL_NETLINK', `netlink: ${reason}`, {
    hint: 'the request is repeated with the next change; if it persists, is the kernel overloaded?',
  })
}
