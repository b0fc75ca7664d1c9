import type { Clock } from '../lib/clock.ts'
import type { Logger } from './logger.ts'

/** Fields of a log record. */
export type LogFields = Readonly<Record<string, unknown>>

/** The log record of one failure. */
export interface FailureRecord {
  readonly level: 'info' | 'warn' | 'error'
  readonly fields: LogFields
  readonly message: string
  /** The object that failed, when failures of one kind concern several. */
  readonly subject?: string
  /** Fields of the record that counts repetitions, given the subjects of that minute in order. */
  readonly summary: (subjects: readonly string[]) => LogFields
}

export interface FailureLogOptions {
  readonly clock: Pick<Clock, 'after'>
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>
}

interface Minute {
  /** How many failures followed the first one. */
  times: number
  readonly subjects: Set<string>
}

const PERIOD_MS = 60_000

/**
 * Logs failures without flooding the log: of each kind the first one in a minute at once, and at
 * the end of that minute how many followed. A full disk fails every write, and a record for each
 * would take the space that is being freed. Kinds must come from a bounded set.
 */
export class FailureLog {
  readonly #options: FailureLogOptions
  readonly #minutes = new Map<string, Minute>()

  constructor(options: FailureLogOptions) {
    this.#options = options
  }

  /** Logs the failure, or counts it if one of this kind was logged less than a minute ago. */
  report(kind: string, record: FailureRecord): void {
    const { clock, log } = this.#options
    const { level, fields, message, subject } = record
    const running = this.#minutes.get(kind)
    const minute = running ?? { times: 0, subjects: new Set() }
    if (subject !== undefined) minute.subjects.add(subject)
    if (running !== undefined) {
      running.times++
      return
    }
    this.#minutes.set(kind, minute)
    log[level](fields, message)
    clock.after(PERIOD_MS, () => this.#end(kind, minute, record))
  }

  #end(kind: string, { times, subjects }: Minute, { level, summary }: FailureRecord): void {
    this.#minutes.delete(kind)
    if (times === 0) return
    const fields = { ...summary([...subjects].toSorted()), times }
    this.#options.log[level](fields, 'the same failure was repeated')
  }
}
