import type { Logger } from '../logger.ts'
import type { Metrics } from '../metrics/metrics.ts'

/** A lasting problem of the daemon or of its node that operators should know about. */
export interface Condition {
  /** The problem, the object, the cause and the remedy, in one line. */
  readonly message: string
  /** Whether `/readyz` answers 503 while it lasts; otherwise it only lists the condition. */
  readonly blocksReadiness: boolean
}

/** A condition that lasts, with the reason that alerts select it by. */
export interface PresentCondition extends Condition {
  readonly reason: string
}

export interface ConditionsParts {
  readonly log: Pick<Logger, 'info' | 'warn'>
  readonly metrics: Pick<Metrics, 'conditions'>
}

/**
 * The present conditions by their reason. A reason is kebab-case, and is never renamed, because alerts select by it.
 * Each condition is logged when it begins, changes and ends, and is 1 in `nodeproxy_conditions` while it lasts.
 */
export class Conditions {
  readonly #parts: ConditionsParts
  readonly #present = new Map<string, Condition>()

  constructor(parts: ConditionsParts) {
    this.#parts = parts
  }

  /** Begins a condition, or changes its message; an equal one is not logged again. */
  raise(reason: string, condition: Condition): void {
    const before = this.#present.get(reason)
    this.#present.set(reason, condition)
    this.#parts.metrics.conditions.set({ reason }, 1)
    if (before?.message !== condition.message) {
      this.#parts.log.warn({ reason }, condition.message)
    }
  }

  /** Ends a condition; does nothing if there is none for this reason. */
  clear(reason: string): void {
    if (!this.#present.delete(reason)) return
    this.#parts.metrics.conditions.set({ reason }, 0)
    this.#parts.log.info({ reason }, 'the condition ended')
  }

  /** The present conditions with their reasons, in the order in which they began. */
  current(): readonly PresentCondition[] {
    return [...this.#present].map(([reason, condition]) => ({ reason, ...condition }))
  }
}
