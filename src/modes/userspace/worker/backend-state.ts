import { tokenOf } from '../../../affinity/sticky-choice.ts'
import type { Backend } from '../../../forwarding/entry.ts'
import { type SocketAddress, socketAddress } from '../../../kernel/sockets/socket-address.ts'
import { hostPort } from '../../../lib/ip.ts'
import type { Session } from './session-table.ts'

/** Milliseconds that a backend is set aside after its first failure; doubled with each further one. */
const FIRST_PAUSE_MS = 1_000
const MAX_PAUSE_MS = 30_000

/** A backend of one route and its state in this worker. */
export class BackendState {
  /** Its weight may change while it has connections. */
  backend: Backend
  readonly address: SocketAddress
  /** The token under which the affinity table remembers the backend, or its Pod. */
  token: number
  readonly sessions = new Set<Session>()
  /** Undefined while it may get new clients; after that the time when its last connections are closed (ms of this thread's clock). */
  leavesAt: number | undefined
  /** Its current weight in smooth weighted round robin. */
  credit = 0
  readonly tally = new RunningTally()
  readonly #routeTally: RunningTally
  #failures = 0
  #asideUntil = 0

  /** `routeTally` counts what all backends of the route do. */
  constructor(backend: Backend, routeTally = new RunningTally()) {
    this.#routeTally = routeTally
    this.backend = backend
    this.address = socketAddress(backend.ip, backend.port)
    this.token = tokenOf(hostPort(backend.ip, backend.port))
  }

  /** A client has opened a connection or a flow. */
  began(): void {
    this.tally.connections++
    this.#routeTally.connections++
  }

  /** A client is gone, or tries another backend. */
  leave(session: Session): void {
    if (!this.sessions.delete(session)) return
    for (const tally of [this.tally, this.#routeTally]) {
      tally.bytesIn += session.bytesIn
      tally.bytesOut += session.bytesOut
    }
  }

  /** Whether connections to it failed recently, so that others should be tried first. */
  isAside(now: number): boolean {
    return now < this.#asideUntil
  }

  /** Clients that fail together because they arrived together count as one failure. */
  failed(now: number): void {
    if (this.isAside(now)) return
    const pause = Math.min(FIRST_PAUSE_MS * 2 ** this.#failures, MAX_PAUSE_MS)
    this.#failures++
    this.#asideUntil = now + pause
  }

  succeeded(): void {
    this.#failures = 0
    this.#asideUntil = 0
  }
}

/** Running counts of a backend, or of a route with all backends that it ever had. */
export class RunningTally {
  connections = 0
  /** Counts of connections that have ended. */
  bytesIn = 0
  bytesOut = 0
}
