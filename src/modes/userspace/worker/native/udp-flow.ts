import { ERRNO } from '../../../../kernel/sockets/constants.ts'
import type { Datagrams } from '../../../../kernel/sockets/datagrams.ts'
import { hostKey, type SocketAddress } from '../../../../kernel/sockets/socket-address.ts'
import type { BackendState } from '../backend-state.ts'
import type { Counters } from '../counters.ts'
import type { ConnectionRequest, Selection } from '../selection.ts'
import type { Session } from '../session-table.ts'
import type { EventLoop, Handler } from './event-loop.ts'

/** The errors of a datagram that is too long or meets a full send buffer: it is lost, as on any network. */
const HARMLESS: ReadonlySet<number> = new Set([
  ERRNO.again,
  ERRNO.interrupted,
  ERRNO.messageSize,
  ERRNO.noBuffers,
])
/** Answers that are passed on before others have their turn. */
const AT_ONCE = 32

/** What all UDP flows of a thread share. */
export interface FlowParts {
  readonly loop: EventLoop
  readonly datagrams: Datagrams
  readonly counters: Counters
}

/** The two ends of a flow, and what its listener does when it ends. */
export interface FlowEnds {
  /** The socket that is connected to the backend. */
  readonly server: number
  /** The socket from which answers are sent, with this address. */
  readonly replies: number
  readonly from: SocketAddress
  readonly state: BackendState
  readonly onEnd: () => void
  /** Called when the backend is not there; `datagram` is the last one sent to it, if it never answered. */
  readonly onRefused: (datagram: Uint8Array) => void
}

/** Longer datagrams are not kept for another backend. */
const KEPT_BYTES = 2048

/** One client that communicates with one address of a Service over UDP. */
export class UdpFlow implements Handler, Session {
  readonly protocol = 'UDP'
  readonly client: string
  lastActive: number
  /** When conntrack last said that the client sends to this destination: milliseconds of the loop's clock. */
  confirmed: number
  bytesIn = 0
  bytesOut = 0
  readonly #parts: FlowParts
  readonly #ends: FlowEnds
  readonly #selection: Selection
  /** The last datagram, until the first answer. */
  #unanswered: Uint8Array | undefined
  #hasAnswered = false
  #isOver = false

  constructor(parts: FlowParts, ends: FlowEnds, selection: Selection) {
    this.#parts = parts
    this.#ends = ends
    this.#selection = selection
    this.client = hostKey(selection.request.client)
    this.lastActive = parts.loop.now
    this.confirmed = selection.request.now
    ends.state.sessions.add(this)
    ends.state.began()
    parts.loop.watch(ends.server, this)
  }

  /** The client's connection request. */
  get request(): ConnectionRequest {
    return this.#selection.request
  }

  /** Passes on the datagram that was received last; false if the backend is not there. */
  pass(length: number): boolean {
    const { datagrams, counters, loop } = this.#parts
    this.lastActive = loop.now
    if (datagrams.pass(this.#ends.server, length) < 0) return !this.#isRefused()
    this.bytesIn += length
    counters.add('bytesIn', length)
    if (!this.#hasAnswered) {
      this.#unanswered = length <= KEPT_BYTES ? datagrams.copy(length) : undefined
    }
    return true
  }

  /** The backend has answered, or an ICMP error reports that it is not there. */
  ready(): void {
    const { datagrams, counters, loop } = this.#parts
    const { server, replies, from, state } = this.#ends
    const ends = { from, to: this.#selection.request.client }
    for (let count = 0; count < AT_ONCE && !this.#isOver; count++) {
      const length = datagrams.receiveConnected(server)
      if (length < 0) {
        if (this.#isRefused() && this.#unanswered) this.#ends.onRefused(this.#unanswered)
        return
      }
      this.#hasAnswered = true
      this.#unanswered = undefined
      this.lastActive = loop.now
      state.succeeded()
      datagrams.passTo(replies, length, ends)
      this.bytesOut += length
      counters.add('bytesOut', length)
    }
    if (!this.#isOver) loop.inNextRound(() => this.ready())
  }

  abort(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#ends.state.leave(this)
    this.#parts.loop.close(this.#ends.server)
    this.#ends.onEnd()
  }

  /** Whether the backend refused, after a failed call: a full buffer only loses the datagram. */
  #isRefused(): boolean {
    const errno = this.#parts.datagrams.errno()
    if (HARMLESS.has(errno)) return false
    this.#selection.failed(this.#ends.state, this.#parts.loop.now)
    this.abort()
    return true
  }
}
