import type { StaleFlows } from '../forwarding/entry.ts'

/**
 * How long a TCP connection waits for the answer of a backend before it counts as unanswered, in milliseconds. What began
 * just before its backend left is answered by then, and a client sends its second SYN after a second.
 */
const HANDSHAKE_MS = 1_000
/**
 * The shortest time between two deletions of TCP connections: for each, the kernel goes through its whole table, which takes
 * milliseconds even if it is empty.
 */
const TCP_PAUSE_MS = 1_000

/** Flows of a frontend, and when they are to be deleted, in milliseconds of the loop's clock. */
interface Waiting {
  readonly flows: StaleFlows
  readonly dueAt: number
}

/**
 * Conntrack entries that wait to be deleted, by frontend. Only the last `StaleFlows` of a frontend is kept:
 * an earlier one may list flows whose backend serves the frontend again.
 */
export class FlowQueue {
  readonly #waiting = new Map<string, Waiting>()
  #restsUntil = 0

  /** Replaces what is waiting for the same frontends, but not its time. */
  add(all: readonly StaleFlows[], now: number): void {
    for (const flows of all) {
      const key = frontendOf(flows)
      const dueAt = flows.protocol === 'TCP' ? now + HANDSHAKE_MS : now
      const before = this.#waiting.get(key)?.dueAt ?? dueAt
      this.#waiting.set(key, { flows, dueAt: Math.min(before, dueAt) })
    }
  }

  /** TCP connections were deleted, from `startedAt` on: the next ones wait until `until`, and for a pause at least. */
  rest(startedAt: number, until: number): void {
    this.#restsUntil = Math.max(startedAt + TCP_PAUSE_MS, until)
  }

  /** Returns what is due, and removes it. */
  takeDue(now: number): readonly StaleFlows[] {
    const due = [...this.#waiting].filter(([, waiting]) => this.#dueAt(waiting) <= now)
    for (const [key] of due) this.#waiting.delete(key)
    return due.map(([, { flows }]) => flows)
  }

  /** When the next flows are due; infinite if none wait. */
  nextDue(): number {
    let next = Number.POSITIVE_INFINITY
    for (const waiting of this.#waiting.values()) next = Math.min(next, this.#dueAt(waiting))
    return next
  }

  #dueAt({ flows, dueAt }: Waiting): number {
    return flows.protocol === 'TCP' ? Math.max(dueAt, this.#restsUntil) : dueAt
  }

  /** Puts back flows that could not be deleted, unless newer ones of the frontend are waiting. */
  putBack(all: readonly StaleFlows[], dueAt: number): void {
    for (const flows of all) {
      const key = frontendOf(flows)
      if (!this.#waiting.has(key)) this.#waiting.set(key, { flows, dueAt })
    }
  }
}

function frontendOf({ family, protocol, ip, port }: StaleFlows): string {
  return `${family}/${protocol}/${ip}/${port}`
}
