import type { StaleFlows } from '../forwarding/entry.ts'

/**
 * Conntrack entries that wait to be cut, by frontend. The latest word about a
 * frontend counts: an earlier one may cut flows that are right by now.
 */
export class FlowQueue {
  #waiting = new Map<string, StaleFlows>()

  add(flows: readonly StaleFlows[]): void {
    for (const one of flows) this.#waiting.set(frontendOf(one), one)
  }

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
