import type { ForwarderLimits } from '../forwarder.ts'
import type { Counters } from './counters.ts'
import type { Occupancy } from './occupancy.ts'

/** One client's connection or flow, as the code that may have to end it sees it. */
export interface Session {
  readonly protocol: 'TCP' | 'UDP'
  /** The client that it belongs to: the same for all sessions of one host (`hostKey`). */
  readonly client: string
  /** When its last byte was moved, or else when it began: milliseconds of its thread's clock. */
  readonly lastActive: number
  /** Payload bytes that it moved from the client, and to it. */
  readonly bytesIn: number
  readonly bytesOut: number
  /** Ends it at once: a reset for TCP, silence for UDP. */
  abort(): void
}

/** At the limit a TCP session that has been idle for so long may be evicted for a new one. */
const EVICTABLE_AFTER_MS = 30_000
/** Sessions that are examined for one new session. */
const MAX_EXAMINED = 8

/** The counters of present sessions, and of all that ever were. */
const NOW = { TCP: 'connectionsNow', UDP: 'udpFlowsNow' } as const
const EVER = { TCP: 'connections', UDP: 'udpFlows' } as const

/** Share of the limit that UDP flows may use: a single, perhaps forged, datagram opens a flow. */
const UDP_SHARE = 0.25

/** Counters and limits that the table applies; times are milliseconds. */
interface SessionTableParts {
  readonly counters: Counters
  /** Shared by all workers. */
  readonly occupancy: Occupancy
  readonly limits: Pick<ForwarderLimits, 'connections' | 'perClient' | 'idleMs' | 'udpIdleMs'>
}

/**
 * All sessions of this worker, roughly the idle ones first (see `#evict`). All workers together never have more sessions than allowed,
 * except for those that they admit at the same instant.
 */
export class SessionTable {
  readonly #parts: SessionTableParts
  readonly #sessions = { TCP: new Set<Session>(), UDP: new Set<Session>() } as const

  constructor(parts: SessionTableParts) {
    this.#parts = parts
  }

  get size(): number {
    return this.#sessions.TCP.size + this.#sessions.UDP.size
  }

  /**
   * Whether this client may open one more session; at the limit an idle one is evicted for it. The
   * limit of one client is lower, so that it cannot keep the others out.
   */
  admit({ protocol, client }: Pick<Session, 'protocol' | 'client'>, now: number): boolean {
    const { occupancy, limits, counters } = this.#parts
    const maxSessions = protocol === 'TCP' ? limits.connections : limits.connections * UDP_SHARE
    const isWithinShare = occupancy.ofClient(client) < limits.perClient
    if (isWithinShare && occupancy.of(protocol) < maxSessions) return true
    const isAdmitted = isWithinShare && this.#evict(protocol, now)
    counters.add(isAdmitted ? 'evicted' : 'overLimit')
    return isAdmitted
  }

  add(session: Session): void {
    this.#sessions[session.protocol].add(session)
    this.#parts.occupancy.add(session, 1)
    this.#parts.counters.add(EVER[session.protocol])
    this.#parts.counters.add(NOW[session.protocol])
  }

  remove(session: Session): void {
    if (!this.#sessions[session.protocol].delete(session)) return
    this.#parts.occupancy.add(session, -1)
    this.#parts.counters.add(NOW[session.protocol], -1)
  }

  /** Aborts sessions that exceeded the idle timeout of their protocol. */
  expire(now: number): void {
    const { idleMs, udpIdleMs } = this.#parts.limits
    const limits = { TCP: idleMs, UDP: udpIdleMs }
    for (const protocol of ['TCP', 'UDP'] as const) {
      const limit = limits[protocol]
      if (limit === 0) continue
      for (const session of this.#sessions[protocol]) {
        if (now - session.lastActive >= limit) session.abort()
      }
    }
  }

  abortAll(): void {
    for (const sessions of Object.values(this.#sessions)) {
      for (const session of sessions) session.abort()
    }
  }

  /**
   * Evicts an idle session; of UDP flows the first one, idle or not. Sessions that are examined and stay go to the end of
   * the queue.
   */
  #evict(protocol: Session['protocol'], now: number): boolean {
    const sessions = this.#sessions[protocol]
    const evictableAfter = protocol === 'TCP' ? EVICTABLE_AFTER_MS : 0
    let examined = 0
    for (const session of sessions) {
      if (now - session.lastActive >= evictableAfter) {
        session.abort()
        return true
      }
      if (++examined === MAX_EXAMINED) return false
      sessions.delete(session)
      sessions.add(session)
    }
    return false
  }
}
