import type { Logger } from '../logger.ts'
import type { Metrics } from '../metrics/metrics.ts'

/** A state of the daemon or of its node that an operator has to know of while it lasts. */
export interface Condition {
  /** What is wrong, the object, the cause and the remedy; one line. */
  readonly message: string
  /** Whether `/readyz` answers 503 while it lasts; otherwise it only lists the condition. */
  readonly blocksReadiness: boolean
}

export interface ConditionsParts {
  readonly log: Pick<Logger, 'info' | 'warn'>
  readonly metrics: Pick<Metrics, 'conditions'>
}

/**
 * The conditions that hold at this moment, by reason (kebab-case and stable: alerts select by it).
 * Each one is logged when it begins, changes and ends, and is 1 in `nodeproxy_conditions` meanwhile.
 */
export class Conditions {
  readonly #parts: ConditionsParts
  readonly #held = new Map<string, Condition>()

  constructor(parts: ConditionsParts) {
    this.#parts = parts
  }

  /** Begins a condition, or changes the message of one that holds; an equal one changes nothing. */
  raise(reason: string, condition: Condition): void {
    const before = this.#held.get(reason)
    this.#held.set(reason, condition)
    this.#parts.metrics.conditions.set({ reason }, 1)
    if (before?.message !== condition.message) {
      this.#parts.log.warn({ reason }, condition.message)
    }
  }

  /** Ends a condition; one that does not hold stays as it is. */
  clear(reason: string): void {
    if (!this.#held.delete(reason)) return
    this.#parts.metrics.conditions.set({ reason }, 0)
    this.#parts.log.info({ reason }, 'the condition ended')
  }

  /** Those that hold, in the order in which they began. */
  current(): readonly Condition[] {
    return [...this.#held.values()]
  }
}
