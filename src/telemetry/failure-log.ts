import type { Clock } from '../lib/clock.ts'
import type { Logger } from './logger.ts'

export type LogFields = Readonly<Record<string, unknown>>

/** The log record of one failure. */
export interface FailureRecord {
  readonly level: 'info' | 'warn' | 'error'
  readonly fields: LogFields
  readonly message: string
  /** Fields of the record that counts repetitions; evaluated when it is written. */
  readonly summary: () => LogFields
}

export interface FailureLogOptions {
  readonly clock: Pick<Clock, 'after'>
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>
}

const PERIOD_MS = 60_000

/**
 * Logs failures without flooding the log: of each kind the first one in a minute at once, and at
 * the end of that minute how many followed. A full disk fails every write, and a record for each
 * would take the space that is being freed. Kinds must come from a bounded set.
 */
export class FailureLog {
  readonly #options: FailureLogOptions
  /** By kind: how many followed the first in this minute. */
  readonly #repeats = new Map<string, number>()

  constructor(options: FailureLogOptions) {
    this.#options = options
  }

  report(kind: string, { level, fields, message, summary }: FailureRecord): void {
    const { clock, log } = this.#options
    const before = this.#repeats.get(kind)
    this.#repeats.set(kind, before === undefined ? 0 : before + 1)
    if (before !== undefined) return
    log[level](fields, message)
    clock.after(PERIOD_MS, () => {
      const times = this.#repeats.get(kind)
      this.#repeats.delete(kind)
      if (times) log[level]({ ...summary(), times }, 'the same failure was repeated')
    })
  }
}
