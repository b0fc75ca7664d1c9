import type { StaleFlows } from '../forwarding/entry.ts'

/**
 * Conntrack entries that wait to be deleted, by frontend. Only the last `StaleFlows` of a frontend is kept:
 * an earlier one may list flows whose backend serves the frontend again.
 */
export class FlowQueue {
  #waiting = new Map<string, StaleFlows>()

  /** Replaces what is waiting for the same frontends. */
  add(flows: readonly StaleFlows[]): void {
    for (const one of flows) this.#waiting.set(frontendOf(one), one)
  }

  /** Returns what is waiting, and empties the queue. */
  takeAll(): readonly StaleFlows[] {
    const flows = [...this.#waiting.values()]
    this.#waiting = new Map()
    return flows
  }

  /** Puts back flows that could not be deleted, unless newer ones of the frontend are waiting. */
  putBack(flows: readonly StaleFlows[]): void {
    for (const one of flows) {
      const key = frontendOf(one)
      if (!this.#waiting.has(key)) this.#waiting.set(key, one)
    }
  }
}

function frontendOf({ family, protocol, ip, port }: StaleFlows): string {
  return `${family}/${protocol}/${ip}/${port}`
}
