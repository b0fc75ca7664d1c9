import { type Clock, sleep } from '../../../lib/clock.ts'
import type { Random } from '../../../lib/random.ts'
import type { FailureLog, LogFields } from '../../../telemetry/failure-log.ts'

/** An output for events. */
export interface AuditSink {
  /** Takes one event, a line of JSON without its end. Never waits and never throws. */
  write(line: string): void
  /** Delivers the waiting events until a deadline; the rest is counted as dropped. */
  close(): Promise<void>
}

/** Counts the failures of a sink. */
export interface SinkObserver {
  /** Events that are lost. */
  dropped(sink: string, events: number): void
  /** An attempt to write or deliver failed; the events may still arrive later. */
  failed(sink: string): void
}

/** The result of a delivery: how many lines were delivered, from the first on, and why the rest was not. */
export interface Delivery {
  readonly lines: number
  readonly failure?: DeliveryFailure
}

interface DeliveryFailure {
  readonly error: unknown
  /** Whether a later attempt with the same lines may succeed. */
  readonly canRetry: boolean
}

/** Delivers one batch at a time; gives up when the signal is aborted. Never rejects. */
export type Deliver = (lines: readonly string[], signal: AbortSignal) => Promise<Delivery>

/** The dependencies of every sink. */
export interface SinkContext {
  readonly clock: Clock
  readonly random: Pick<Random, 'below'>
  readonly observer: SinkObserver
  readonly failures: Pick<FailureLog, 'report'>
}

export interface BufferedSinkOptions extends SinkContext {
  /** The name of the sink, for metrics and the log. */
  readonly name: string
  readonly deliver: Deliver
  /** The limits of waiting events in memory; further events are dropped. */
  readonly queue: LineBounds
  /** The limits of one batch; a line that exceeds them alone is a batch of its own. */
  readonly batch: LineBounds
  /** Milliseconds that the first event of a batch waits for more events. */
  readonly gatherMs: number
  readonly retry: RetryOptions
  /** Milliseconds that `close` may take. */
  readonly closeMs: number
}

/** The most lines that wait, or that are delivered together. */
interface LineBounds {
  readonly lines: number
  /** Bytes of the lines in UTF-16, the most that they take in memory. */
  readonly bytes: number
}

interface RetryOptions {
  /** Milliseconds before the first repetition, doubled at each, up to `maxMs`. */
  readonly baseMs: number
  readonly maxMs: number
  /** Attempts for one batch, after which it is dropped. */
  readonly attempts: number
}

/**
 * Holds events in bounded memory and delivers them in batches, one at a time and in order. While the receiver
 * hangs or fails, events wait; those beyond the limits are dropped and counted.
 */
export class BufferedSink implements AuditSink {
  readonly #options: BufferedSinkOptions
  readonly #queue: LineQueue
  /** Aborted when closing begins: delays end at once. */
  readonly #closing = new AbortController()
  /** Aborted at the deadline for closing. */
  readonly #deadline = new AbortController()
  #work: Promise<void> | undefined

  constructor(options: BufferedSinkOptions) {
    this.#options = options
    this.#queue = new LineQueue(options.queue)
  }

  write(line: string): void {
    if (this.#closing.signal.aborted || !this.#queue.push(line)) return this.#drop(1)
    this.#work ??= this.#run()
  }

  async close(): Promise<void> {
    const { clock, closeMs } = this.#options
    this.#closing.abort()
    const cancel = clock.after(closeMs, () => this.#deadline.abort())
    await this.#work
    cancel()
  }

  async #run(): Promise<void> {
    const { clock, gatherMs, batch } = this.#options
    // Delivery never runs inside the call of the request that made the event.
    await (gatherMs > 0 ? sleep(clock, gatherMs, this.#closing.signal) : Promise.resolve())
    while (this.#queue.length > 0) {
      await this.#deliver(this.#queue.take(batch))
    }
    this.#work = undefined
  }

  async #deliver(lines: readonly string[]): Promise<void> {
    const { clock, retry } = this.#options
    let rest = lines
    for (let attempt = 1; ; attempt++) {
      const { lines: delivered, failure } = await this.#attempt(rest)
      rest = rest.slice(delivered)
      if (failure === undefined) return
      const isLast = attempt >= retry.attempts || this.#closing.signal.aborted
      this.#report(failure.error)
      if (isLast || !failure.canRetry) return this.#drop(rest.length)
      await sleep(clock, this.#delayAfter(attempt), this.#closing.signal)
    }
  }

  /** One attempt to deliver. An attempt that still hangs at the deadline is not awaited. */
  #attempt(lines: readonly string[]): Promise<Delivery> {
    const { signal } = this.#deadline
    if (signal.aborted) return Promise.resolve(LATE)
    const { promise, resolve } = Promise.withResolvers<Delivery>()
    const giveUp = (): void => resolve(LATE)
    signal.addEventListener('abort', giveUp, { once: true })
    void this.#options.deliver(lines, signal).then((delivery) => {
      signal.removeEventListener('abort', giveUp)
      resolve(delivery)
    })
    return promise
  }

  #delayAfter(attempt: number): number {
    const { random, retry } = this.#options
    const ceiling = Math.min(retry.maxMs, retry.baseMs * 2 ** Math.min(attempt - 1, 30))
    return Math.ceil(ceiling / 2) + random.below(Math.floor(ceiling / 2) + 1)
  }

  #report(error: unknown): void {
    const { name, observer } = this.#options
    observer.failed(name)
    this.#log('delivery', { err: error }, 'audit events could not be delivered')
  }

  #drop(events: number): void {
    if (events === 0) return
    const { name, observer } = this.#options
    observer.dropped(name, events)
    this.#log(
      'loss',
      {},
      'audit events are lost: too many were waiting, or the receiver did not accept them',
    )
  }

  #log(kind: string, fields: LogFields, message: string): void {
    const { name: sink, failures } = this.#options
    const summary = (): LogFields => ({ sink })
    const record = { level: 'error', fields: { sink, ...fields }, message, summary } as const
    failures.report(`audit ${sink} ${kind}`, record)
  }
}

const LATE: Delivery = {
  lines: 0,
  failure: {
    error: new Error('the server is closing, and the events were not accepted in time'),
    canRetry: false,
  },
}

/** Lines that wait, in order and within bounds. */
export class LineQueue {
  readonly #bounds: LineBounds
  #lines: string[] = []
  #first = 0
  #bytes = 0

  constructor(bounds: LineBounds) {
    this.#bounds = bounds
  }

  get length(): number {
    return this.#lines.length - this.#first
  }

  /** Adds a line; returns false if that would exceed the limits. */
  push(line: string): boolean {
    const bytes = bytesOf(line)
    const isFull = this.length >= this.#bounds.lines || this.#bytes + bytes > this.#bounds.bytes
    if (isFull) return false
    this.#lines.push(line)
    this.#bytes += bytes
    return true
  }

  /** Removes the first lines, at least one if there is any. */
  take(bounds: LineBounds): readonly string[] {
    let end = this.#first
    for (let bytes = 0; end < this.#lines.length && end - this.#first < bounds.lines; end++) {
      bytes += bytesOf(this.#lines[end]!)
      if (bytes > bounds.bytes && end > this.#first) break
    }
    const taken = this.#lines.slice(this.#first, end)
    for (const line of taken) this.#bytes -= bytesOf(line)
    this.#first = end
    this.#shrink()
    return taken
  }

  /** Frees the lines that were taken once they are at least half of the array. */
  #shrink(): void {
    if (this.#first * 2 < this.#lines.length) return
    this.#lines = this.#lines.slice(this.#first)
    this.#first = 0
  }
}

function bytesOf(line: string): number {
  return 2 * line.length
}
