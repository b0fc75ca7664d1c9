import type { Clock } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { decodeKernelError, type KernelError } from './kernel-error.ts'
import {
  decodeMessages,
  encodeMessages,
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

/** The longest wait for the next datagram of an answer. */
const TIMEOUT_MS = 5000
/** If this process was suspended, the answer may have arrived in time and is still waiting to be read. */
const GRACE_MS = 100

/** After an overrun no request may be sent before the queue is empty, or its answer would be dropped as well. */
const DRAIN_MS = 20
const MAX_ATTEMPTS = 6
const MAX_SEQ = 0xffff_ffff

/** The answer to several messages that were sent together. */
export interface BatchAnswer {
  /** The error of each message that failed, by its index in the batch. */
  readonly refusals: ReadonlyMap<number, KernelError>
  /**
   * Whether answers were lost and messages sent again: a refusal may then only mean that the first attempt took
   * effect.
   */
  readonly repeated: boolean
}

/** Receives each object of an answer. */
export type Visit = (message: NetlinkMessage) => void

/**
 * Sends requests over a netlink socket, one at a time, and reads their answers. A refusal by the kernel is an
 * errno; timeouts and lost answers throw NP_KERNEL_NETLINK. A dump that changed while it ran, and any request
 * whose answer was lost, is repeated: every request must be one that can be repeated.
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

  /** The port of the socket. */
  get port(): number {
    return this.#transport.port
  }

  /** Like `transact`; the result holds the errno of the messages that failed. */
  async batch(messages: readonly OutgoingMessage[]): Promise<ReadonlyMap<number, number>> {
    const { refusals } = await this.transact(messages)
    return new Map([...refusals].map(([index, { errno }]) => [index, errno]))
  }

  /**
   * Sends messages in one datagram and waits for all. Only the last one requests an acknowledgement, so that thousands
   * of acknowledgements do not overrun our own socket. If the refusals overrun it, both halves are sent again one
   * after the other.
   */
  async transact(messages: readonly OutgoingMessage[]): Promise<BatchAnswer> {
    if (messages.length === 0) return { refusals: new Map(), repeated: false }
    return this.#exclusively(messages, { flags: NLM_F_ACK, onMessage: () => undefined })
  }

  /**
   * Sends messages that the kernel treats as one transaction, in one datagram and only once: if the answer is lost, it
   * is unknown whether they took effect, and NP_KERNEL_NETLINK is thrown. One of the messages requests an
   * acknowledgement; an error of the first message is the answer to all. The result holds the errors by the index of
   * the message.
   */
  transaction(messages: readonly OutgoingMessage[]): Promise<ReadonlyMap<number, KernelError>> {
    const result = this.#tail.then(() => this.#once(messages))
    this.#tail = result.catch(() => undefined)
    return result
  }

  /** Visits the objects that one message requests. Returns the kernel's error, or undefined. */
  async request(
    message: OutgoingMessage,
    visit: (message: NetlinkMessage) => void,
  ): Promise<KernelError | undefined> {
    const handling = { flags: NLM_F_ACK, onMessage: visit }
    return (await this.#exclusively([message], handling)).refusals.get(0)
  }

  /**
   * Visits every object of a dump and returns the errno, 0 if complete. A dump that was disturbed is repeated: `begin` is
   * called before each attempt, forgets what earlier ones found, and returns what visits the objects of this one. With
   * `evenIfChanged`, a change during the dump does not count.
   */
  async dump(
    message: OutgoingMessage,
    begin: () => Visit,
    { evenIfChanged = false } = {},
  ): Promise<number> {
    let visit: Visit = () => undefined
    const handling = {
      flags: NLM_F_DUMP,
      onBegin: () => {
        visit = begin()
      },
      onMessage: (answer: NetlinkMessage) => visit(answer),
      evenIfChanged,
    }
    return (await this.#exclusively([message], handling)).refusals.get(0)?.errno ?? 0
  }

  close(): void {
    this.#pending?.fail(lost('the socket was closed'))
    this.#transport.close()
  }

  async #once(messages: readonly OutgoingMessage[]): Promise<ReadonlyMap<number, KernelError>> {
    this.#transport.hold(true)
    try {
      const refusals = new Map<number, KernelError>()
      const last = messages.findLastIndex(({ flags }) => (flags & NLM_F_ACK) !== 0)
      const how = { flags: 0, onMessage: () => undefined, refusals, last, endsWithFirst: true }
      const outcome = await this.#attempt(messages, how)
      if (outcome !== 'done') throw lost('the answer to a transaction was lost')
      return refusals
    } finally {
      this.#transport.hold(false)
    }
  }

  #exclusively(messages: readonly OutgoingMessage[], how: Handling): Promise<BatchAnswer> {
    const result = this.#tail.then(() => this.#hold(messages, how))
    this.#tail = result.catch(() => undefined)
    return result
  }

  async #hold(messages: readonly OutgoingMessage[], how: Handling): Promise<BatchAnswer> {
    this.#transport.hold(true)
    try {
      return await this.#deliver(messages, how, 1)
    } finally {
      this.#transport.hold(false)
    }
  }

  async #deliver(
    messages: readonly OutgoingMessage[],
    how: Handling,
    attempt: number,
  ): Promise<BatchAnswer> {
    if (attempt > MAX_ATTEMPTS) throw lost(`no undisturbed answer in ${MAX_ATTEMPTS} attempts`)
    how.onBegin?.()
    const refusals = new Map<number, KernelError>()
    const outcome = await this.#attempt(messages, { ...how, refusals })
    if (outcome === 'done') return { refusals, repeated: false }
    if (outcome === 'overrun') await this.#pause(DRAIN_MS * attempt)
    if (outcome === 'overrun' && messages.length > 1) return this.#halves(messages, how, attempt)
    return { ...(await this.#deliver(messages, how, attempt + 1)), repeated: true }
  }

  async #halves(messages: readonly OutgoingMessage[], how: Handling, attempt: number) {
    const middle = messages.length >> 1
    const first = await this.#deliver(messages.slice(0, middle), how, attempt + 1)
    const rest = await this.#deliver(messages.slice(middle), how, attempt + 1)
    const moved = [...rest.refusals].map(([at, refusal]) => [at + middle, refusal] as const)
    return { refusals: new Map([...first.refusals, ...moved]), repeated: true }
  }

  async #attempt(
    messages: readonly OutgoingMessage[],
    how: Handling & KernelErrors,
  ): Promise<AttemptResult> {
    if (this.#seq + messages.length > MAX_SEQ) this.#seq = 0
    const first = this.#seq + 1
    const bytes = encodeMessages(flagged(messages, how.flags), first)
    this.#seq += messages.length
    let timeout: AnswerTimeout | undefined
    try {
      return await new Promise<AttemptResult>((settle, fail) => {
        timeout = new AnswerTimeout(this.#clock, () => fail(lost(`no answer in ${TIMEOUT_MS} ms`)))
        const { onMessage, refusals, endsWithFirst = false, evenIfChanged = false } = how
        const last = how.last === undefined ? this.#seq : first + how.last
        const options = { endsWithFirst, evenIfChanged }
        const request = { first, last, interrupted: false, onMessage, refusals, ...options }
        this.#pending = { ...request, settle, fail, timeout }
        this.#transport.send(bytes).catch(fail)
      })
    } finally {
      timeout?.stop()
      this.#pending = undefined
    }
  }

  #receive(datagram: Buffer): void {
    const pending = this.#pending
    if (pending === undefined) return
    pending.timeout.restart()
    for (const message of decodeMessages(datagram)) {
      if (message.seq < pending.first || message.seq > pending.last) continue
      if ((message.flags & NLM_F_DUMP_INTR) !== 0 && !pending.evenIfChanged) {
        pending.interrupted = true
      }
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
  /** The flags of the last message. */
  readonly flags: number
  readonly onMessage: Visit
  /** Called before each attempt. */
  readonly onBegin?: () => void
  /** The message whose answer ends the request; absent: the last one. */
  readonly last?: number
  /** Whether an error of the first message ends it, too. */
  readonly endsWithFirst?: boolean
  readonly evenIfChanged?: boolean
}

interface KernelErrors {
  readonly refusals: Map<number, KernelError>
}

function flagged(messages: readonly OutgoingMessage[], last: number): OutgoingMessage[] {
  return messages.map(({ type, flags, payload }, index) => {
    const own = index === messages.length - 1 ? last : 0
    return { type, flags: flags | NLM_F_REQUEST | own, payload }
  })
}

function lost(reason: string): NodeProxyError {
  return new NodeProxyError('NP_KERNEL_NETLINK', `netlink: ${reason}`, {
    hint: 'the request is repeated with the next change; if it persists, is the kernel overloaded?',
  })
}

/** How an attempt ended; `interrupted`: the listed objects changed meanwhile. */
type AttemptResult = 'done' | 'interrupted' | 'overrun'

/** A request whose answer is awaited; its messages have the sequence numbers `first` to `last`. */
interface Pending {
  readonly first: number
  readonly last: number
  readonly onMessage: (message: NetlinkMessage) => void
  /** The error of each message that failed, by its index in the request. */
  readonly refusals: Map<number, KernelError>
  /** Whether an error of the first message is the answer to all of them. */
  readonly endsWithFirst: boolean
  /** Whether a list counts as complete even if it changed meanwhile. */
  readonly evenIfChanged: boolean
  interrupted: boolean
  readonly settle: (outcome: AttemptResult) => void
  readonly fail: (error: Error) => void
  readonly timeout: AnswerTimeout
}

/** Takes an NLMSG_ERROR or NLMSG_DONE. */
function finish(pending: Pending, message: NetlinkMessage): void {
  const refusal = decodeKernelError(message)
  if (refusal !== undefined) pending.refusals.set(message.seq - pending.first, refusal)
  const isAll = pending.endsWithFirst && refusal !== undefined && message.seq === pending.first
  if (isAll || message.seq === pending.last)
    pending.settle(pending.interrupted ? 'interrupted' : 'done')
}

/** Calls `onEnd` once when no datagram of an answer arrived for `TIMEOUT_MS`; each one calls `restart`. */
class AnswerTimeout {
  readonly #clock: Clock
  readonly #onEnd: () => void
  #cancel: () => void

  constructor(clock: Clock, onEnd: () => void) {
    this.#clock = clock
    this.#onEnd = onEnd
    this.#cancel = this.#start()
  }

  restart(): void {
    this.#cancel()
    this.#cancel = this.#start()
  }

  stop(): void {
    this.#cancel()
  }

  #start(): () => void {
    return this.#clock.after(TIMEOUT_MS, () => {
      this.#cancel = this.#clock.after(GRACE_MS, this.#onEnd)
    })
  }
}
