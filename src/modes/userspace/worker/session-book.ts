import type { ForwarderLimits } from '../forwarder.ts'
import type { Counters } from './counters.ts'
import type { Session } from './session.ts'

/** Who has said nothing for so long makes room for somebody new, when there is none. */
const IDLE_ENOUGH_MS = 30_000
/** Sessions that are looked at for one newcomer. */
const LOOKS = 8

const NOW = { TCP: 'connectionsNow', UDP: 'udpFlowsNow' } as const
const EVER = { TCP: 'connections', UDP: 'udpFlows' } as const

export interface SessionBookParts {
  readonly counters: Counters
  /** Of all workers: how many sessions there are (one `int`). */
  readonly occupancy: SharedArrayBuffer
  readonly limits: Pick<ForwarderLimits, 'connections' | 'perClient' | 'idleMs' | 'udpIdleMs'>
}

/**
 * All clients of this worker, roughly the idle ones first. All workers together never have more
 * than allowed, but for those that they admit in the same instant.
 */
export class SessionBook {
  readonly #parts: SessionBookParts
  readonly #sessions = new Set<Session>()
  readonly #occupancy: Int32Array
  /** Sessions by client. */
  readonly #clients = new Map<string, number>()

  constructor(parts: SessionBookParts) {
    this.#parts = parts
    this.#occupancy = new Int32Array(parts.occupancy)
  }

  get size(): number {
    return this.#sessions.size
  }

  /**
   * Whether there is room for one more of this client, if need be after ending one that is idle.
   * No client may fill everything, lest it shut out the others.
   */
  admit(client: string, now: number): boolean {
    if ((this.#clients.get(client) ?? 0) >= this.#parts.limits.perClient) {
      this.#parts.counters.add('overLimit')
      return false
    }
    if (Atomics.load(this.#occupancy, 0) < this.#parts.limits.connections) return true
    const hasRoom = this.#evict(now)
    this.#parts.counters.add(hasRoom ? 'evicted' : 'overLimit')
    return hasRoom
  }

  add(session: Session): void {
    this.#sessions.add(session)
    Atomics.add(this.#occupancy, 0, 1)
    this.#clients.set(session.client, (this.#clients.get(session.client) ?? 0) + 1)
    this.#parts.counters.add(EVER[session.protocol])
    this.#parts.counters.add(NOW[session.protocol])
  }

  remove(session: Session): void {
    if (!this.#sessions.delete(session)) return
    Atomics.sub(this.#occupancy, 0, 1)
    const left = (this.#clients.get(session.client) ?? 1) - 1
    if (left > 0) this.#clients.set(session.client, left)
    else this.#clients.delete(session.client)
    this.#parts.counters.add(NOW[session.protocol], -1)
  }

  /** Ends what was idle for longer than its protocol may be. */
  expire(now: number): void {
    const { idleMs, udpIdleMs } = this.#parts.limits
    const limits = { TCP: idleMs, UDP: udpIdleMs }
    for (const session of this.#sessions) {
      const limit = limits[session.protocol]
      if (limit > 0 && now - session.lastActive >= limit) session.abort()
    }
  }

  abortAll(): void {
    for (const session of this.#sessions) session.abort()
  }

  /** Those that are not idle enough go to the end of the queue. */
  #evict(now: number): boolean {
    let looks = 0
    for (const session of this.#sessions) {
      if (now - session.lastActive >= IDLE_ENOUGH_MS) {
        session.abort()
        return true
      }
      if (++looks === LOOKS) return false
      this.#sessions.delete(session)
      this.#sessions.add(session)
    }
    return false
  }
}
