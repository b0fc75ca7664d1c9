import { EPOLL } from '../../../../kernel/sockets/constants.ts'
import { hostKey } from '../../../../kernel/sockets/socket-address.ts'
import type { Sockets } from '../../../../kernel/sockets/sockets.ts'
import type { BackendState } from '../backend-state.ts'
import type { Counters } from '../counters.ts'
import { proxyHeader } from '../proxy-header.ts'
import type { Selection } from '../selection.ts'
import type { Session, SessionTable } from '../session-table.ts'
import type { EventLoop, Handler } from './event-loop.ts'
import { OneWay, type SharedIo } from './one-way.ts'

/** Milliseconds in which the other end must accept the remaining bytes before the reset, and between two checks of that. */
const UNSENT_TIMEOUT_MS = 1_000
const UNSENT_POLL_MS = 10

const { in: IN, out: OUT, err: ERR, hup: HUP, rdhup: RDHUP, urgent: URGENT } = EPOLL

/** What all TCP links of a thread share. */
export interface LinkParts {
  readonly loop: EventLoop
  readonly io: SharedIo
  readonly sessionTable: SessionTable
  readonly counters: Counters
  readonly connectMs: number
  /** The mark of packets to backends, by which the rules recognise them; 0: none. */
  readonly mark: number
}

/** Connects a client to a backend; from then on its events keep the link going. */
export function linkTcp(parts: LinkParts, socket: number, selection: Selection): void {
  const link = new TcpLink(parts, socket, selection)
  link.begin()
}

/** One client's TCP connection and the one to its backend. */
class TcpLink implements Handler, Session {
  readonly protocol = 'TCP'
  readonly client: string
  lastActive: number
  readonly #parts: LinkParts
  #socket: number
  readonly #selection: Selection
  #server = -1
  #state: BackendState | undefined
  #up: OneWay | undefined
  #down: OneWay | undefined
  #cancel: () => void = nothing
  /** Directions that will be pumped in the next round. */
  readonly #queued = new Set<OneWay>()
  #isOver = false

  constructor(parts: LinkParts, socket: number, selection: Selection) {
    this.#parts = parts
    this.#socket = socket
    this.#selection = selection
    this.client = hostKey(selection.request.client)
    this.lastActive = parts.loop.now
  }

  get bytesIn(): number {
    return this.#up?.bytes ?? 0
  }

  get bytesOut(): number {
    return this.#down?.bytes ?? 0
  }

  /** Connects to the first backend. */
  begin(): void {
    this.#parts.sessionTable.add(this)
    this.#tryNext()
  }

  ready(descriptor: number, events: number): void {
    if (this.#up === undefined || this.#down === undefined) this.#connecting(events)
    else this.#flow(descriptor, events, [this.#up, this.#down])
  }

  abort(): void {
    const { sockets } = this.#parts.io
    for (const socket of [this.#socket, this.#server]) {
      if (socket >= 0 && !this.#isOver) sockets.resetOnClose(socket)
    }
    this.#finish()
  }

  #tryNext(): void {
    const { loop, io, connectMs, counters, mark } = this.#parts
    for (let state = this.#next(); state !== undefined; state = this.#next()) {
      const server = io.sockets.connect('tcp', state.address, mark)
      if (server >= 0) {
        this.#server = server
        this.#state = state
        state.sessions.add(this)
        io.sockets.set(server, 'noDelay', 1)
        io.sockets.set(server, 'urgentInline', 1)
        this.#cancel = loop.after(connectMs, () => this.#failed())
        loop.watch(server, this)
        return
      }
      if (io.sockets.isExhausted) break
      this.#selection.failed(state, loop.now)
    }
    counters.add('unserved')
    this.abort()
  }

  #next(): BackendState | undefined {
    return this.#selection.next(this.#parts.loop.now)
  }

  #connecting(events: number): void {
    if (events & (ERR | HUP)) this.#failed()
    else if (events & OUT) this.#established(events)
  }

  /** Called when this backend does not accept the client; another one may. */
  #failed(): void {
    this.#cancel()
    const state = this.#state
    this.#leaveServer()
    if (state) this.#selection.failed(state, this.#parts.loop.now)
    this.#tryNext()
  }

  #established(events: number): void {
    this.#cancel()
    const { loop, io } = this.#parts
    this.#state?.succeeded()
    this.#state?.began()
    const up = new OneWay(io, this.#socket, this.#server)
    const down = new OneWay(io, this.#server, this.#socket)
    this.#up = up
    this.#down = down
    const { request } = this.#selection
    const { proxyProtocol } = request.match.served.route
    if (proxyProtocol) up.prepend(proxyHeader(proxyProtocol, request))
    // The client has most likely sent bytes and can receive, so both are tried without waiting for an event.
    up.isReadable = true
    down.isWritable = true
    if (!loop.watch(this.#socket, this)) this.abort()
    else {
      this.#flow(this.#server, events, [up, down])
      if (this.#server >= 0) io.sockets.keepAlive(this.#server)
    }
  }

  #flow(descriptor: number, events: number, [up, down]: readonly [OneWay, OneWay]): void {
    const [from, to] = descriptor === this.#server ? [down, up] : [up, down]
    if (events & (IN | RDHUP | HUP | ERR)) from.isReadable = true
    if (events & (RDHUP | HUP | ERR | URGENT)) from.readsOn = true
    if (events & OUT) to.isWritable = true
    this.lastActive = this.#parts.loop.now
    if (from.isReadable) this.#pump(from)
    if (events & OUT) this.#pump(to)
    if (events & ERR && !from.isBlocked && !this.#queued.has(from)) this.#breakOff()
  }

  #pump(way: OneWay): void {
    if (this.#isOver || way.isDone) return
    switch (way.pump()) {
      case 'waiting':
        return
      case 'more':
        this.#pumpLater(way)
        return
      case 'broken':
        this.#breakOff()
        return
      case 'done':
        this.#ended(way)
    }
  }

  #pumpLater(way: OneWay): void {
    if (this.#queued.has(way)) return
    this.#queued.add(way)
    this.#parts.loop.inNextRound(() => {
      this.#queued.delete(way)
      this.#pump(way)
    })
  }

  /** Called when one end was reset: the other is reset once the bytes for it have left this machine. */
  #breakOff(): void {
    if (this.#isOver) return
    const { loop, io } = this.#parts
    for (const socket of [this.#socket, this.#server]) {
      if (socket >= 0) resetWhenSent(socket, loop, io.sockets)
    }
    this.#socket = -1
    this.#server = -1
    this.#finish()
  }

  /** Called when one direction has ended; when both have, the connection is over. */
  #ended(way: OneWay): void {
    if (this.#up?.isDone && this.#down?.isDone) this.#finish()
    else {
      const sink = way === this.#up ? this.#server : this.#socket
      this.#parts.io.sockets.endWriting(sink)
    }
  }

  #finish(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#cancel()
    const { sessionTable, loop, counters } = this.#parts
    this.#leaveServer()
    if (this.#socket >= 0) loop.close(this.#socket)
    this.#up?.release()
    this.#down?.release()
    counters.add('bytesIn', this.bytesIn)
    counters.add('bytesOut', this.bytesOut)
    sessionTable.remove(this)
  }

  #leaveServer(): void {
    if (this.#server >= 0) this.#parts.loop.close(this.#server)
    this.#server = -1
    this.#state?.leave(this)
    this.#state = undefined
  }
}

function nothing(): void {}

/**
 * Resets a connection after its pending bytes have been sent: a reset would discard bytes that still wait for their
 * first transmission, and a server may answer and then reset.
 */
function resetWhenSent(socket: number, loop: EventLoop, sockets: Sockets): void {
  const deadline = loop.now + UNSENT_TIMEOUT_MS
  loop.silence(socket)
  const look = () => {
    if (loop.now < deadline && sockets.unsent(socket) > 0) loop.after(UNSENT_POLL_MS, look)
    else {
      sockets.resetOnClose(socket)
      loop.close(socket)
    }
  }
  look()
}
