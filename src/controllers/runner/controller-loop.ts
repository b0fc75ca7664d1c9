import { type ApiResult, isTerminating } from '../../client/http/failure.ts'
import type { Clock } from '../../lib/clock.ts'
import type { View } from '../cache/object-cache.ts'
import type { Controller } from './controller.ts'
import { EventLimit } from './event-limit.ts'
import type { RunnerObserver, WriteResult } from './observer.ts'
import { type EventWrite, isOutdated, reportsOn, type Write } from './write.ts'

/** Times and limits of a controller loop. */
export interface LoopTiming {
  readonly backoffBaseMs: number
  readonly backoffMaxMs: number
  /** The number of keys of one controller that are reconciled at once. */
  readonly workers: number
  /** How long keys are reconciled before the loop yields to the event loop, in milliseconds. */
  readonly turnMs: number
}

/** Bindings of one controller whose answers are awaited at once, beside the keys that are reconciled. */
const MAX_BINDINGS = 16
/** Events of one controller that are under way. */
const MAX_RECORDINGS = 32

/** The dependencies of a controller loop. */
export interface LoopParts {
  readonly controller: Controller
  readonly view: View
  readonly clock: Clock
  readonly observer: RunnerObserver
  readonly timing: LoopTiming
  /** Whether keys may be reconciled: everything is listed, and this replica leads. */
  readonly isOpen: () => boolean
  /** Since when this replica has led and every watch has been open without a break, in milliseconds since the epoch. */
  readonly since: () => number
  /** Makes a write and updates the caches with the answer, to which it resolves. */
  readonly write: (write: Write) => Promise<ApiResult<unknown>>
}

/**
 * Runs one controller: takes dirty keys, reconciles each with the present state, makes the writes, and retries
 * the keys that failed.
 */
export class ControllerLoop {
  readonly #parts: LoopParts
  readonly #queue: WorkQueue
  readonly #episodes = new ProblemEpisodes()
  readonly #eventLimit: EventLimit
  readonly #running = new Set<Promise<void>>()
  readonly #recording = new Set<Promise<void>>()
  /** Keys that are reconciled, without those that wait for a binding. */
  #busy = 0
  #turnBegan = Number.NEGATIVE_INFINITY
  #cancelTurn: (() => void) | undefined

  constructor(parts: LoopParts) {
    this.#parts = parts
    const { controller, view, clock, timing } = parts
    this.#eventLimit = new EventLimit(clock)
    this.#queue = new WorkQueue({
      ...timing,
      clock,
      onReady: () => this.pump(),
      priorityOf: (key) => controller.priority?.(key, view) ?? 0,
    })
  }

  get controller(): Controller {
    return this.#parts.controller
  }

  /** Adds dirty keys, each after the delay that the controller sets for it. */
  add(keys: Iterable<string>): void {
    const { controller, view } = this.#parts
    for (const key of keys) {
      const ms = controller.delayMs?.(key, view) ?? 0
      if (ms > 0) this.#queue.addAfter(key, ms)
      else this.#queue.add(key)
    }
  }

  /** Starts to reconcile keys that are ready, while workers are free. */
  pump(): void {
    const { isOpen, timing } = this.#parts
    const workers = this.controller.workers ?? timing.workers
    const hasWork = (): boolean => isOpen() && this.#queue.hasReady
    while (
      hasWork() &&
      this.#busy < workers &&
      this.#running.size < workers + MAX_BINDINGS &&
      this.#hasTurn()
    ) {
      const key = this.#queue.take()
      if (key !== undefined) this.#start(key)
    }
    this.#parts.observer.depth(this.controller.name, this.#queue.depth)
  }

  /** Discards waiting keys and reported problems, because another replica leads now. */
  rest(): void {
    this.#queue.clear()
    this.#episodes.clear()
  }

  /** Discards waiting keys; resolves when the work in progress has ended. */
  async stop(): Promise<void> {
    this.#cancelTurn?.()
    this.#queue.clear()
    await Promise.all(this.#running)
    await Promise.all(this.#recording)
    this.#queue.clear()
  }

  #start(key: string): void {
    this.#busy += 1
    let isBusy = true
    const release = (): void => {
      if (isBusy) this.#busy -= 1
      isBusy = false
    }
    const work = this.#work(key, release).finally(() => {
      release()
      this.#running.delete(work)
      this.#queue.done(key)
      this.pump()
    })
    this.#running.add(work)
  }

  /**
   * Whether the loop may go on now; if not, it goes on after yielding. Without yielding, a thousand keys that need no
   * write would block the event loop.
   */
  #hasTurn(): boolean {
    const { clock, timing } = this.#parts
    if (this.#cancelTurn !== undefined) return false
    if (clock.now() - this.#turnBegan < timing.turnMs) return true
    this.#cancelTurn = clock.after(0, () => {
      this.#cancelTurn = undefined
      this.#turnBegan = clock.now()
      this.pump()
    })
    return false
  }

  async #work(key: string, release: () => void): Promise<void> {
    const { clock, observer } = this.#parts
    const began = clock.now()
    try {
      if (await this.#reconcile(key, release)) this.#succeeded(key)
    } catch (error) {
      this.#foundBug(key, error)
    }
    observer.reconciled(this.controller.name, (clock.now() - began) / 1000)
  }

  #foundBug(key: string, cause: unknown): void {
    const message = 'reconciling the key failed because of a bug'
    this.#failed(key, { errorCode: 'NP_CONTROLLERS_BUG', message, cause })
  }

  /**
   * Reconciles a key; returns whether all its writes succeeded. A refusal by a terminating namespace is a success. A binding
   * releases the worker when it is sent, because the caches have its result.
   */
  async #reconcile(key: string, release: () => void): Promise<boolean> {
    const { controller, view, clock, isOpen, since } = this.#parts
    const { writes, againMs, dirty = [] } = controller.reconcile(key, view, clock.now(), since())
    for (const write of writes) {
      if (!isOpen()) return false
      if (isOutdated(write, view)) {
        this.#queue.add(key)
        return true
      }
      if (write.verb === 'record') {
        await this.#record(key, write)
        continue
      }
      const writing = this.#write(write)
      if (write.verb === 'bind') {
        release()
        this.pump()
      }
      const answer = await writing
      if (!answer.ok && isTerminating(answer.failure)) continue
      for (const report of reportsOn(write, answer)) {
        await (report.verb === 'record' ? this.#record(key, report) : this.#write(report))
      }
      if (answer.ok) continue
      if (resultOf(answer) === 'conflict') this.#retry(key)
      else this.#failed(key, { ...answer.failure, errorCode: 'NP_CONTROLLERS_WRITE' })
      return false
    }
    for (const other of dirty) this.#queue.add(other)
    if (againMs !== undefined) this.#queue.addAfter(key, againMs)
    return true
  }

  async #write(write: Write): Promise<ApiResult<unknown>> {
    const answer = await this.#parts.write(write)
    this.#parts.observer.wrote(this.controller.name, write.verb, resultOf(answer))
    return answer
  }

  /** Sends an Event, whose answer nothing waits for, unless very many are under way. It is not sent again if it fails. */
  async #record(key: string, write: EventWrite): Promise<void> {
    if (!this.#eventLimit.take(write)) {
      this.#parts.observer.wrote(this.controller.name, write.verb, 'suppressed')
      return
    }
    const recording: Promise<void> = this.#write(write)
      .then(
        () => undefined,
        (error: unknown) => this.#foundBug(key, error),
      )
      .finally(() => this.#recording.delete(recording))
    this.#recording.add(recording)
    if (this.#recording.size >= MAX_RECORDINGS) await Promise.race(this.#recording)
  }

  #succeeded(key: string): void {
    this.#queue.forget(key)
    for (const kind of this.#episodes.end(key)) {
      this.#parts.observer.healed(this.controller.name, errorCodeOf(kind))
    }
  }

  #failed(key: string, problem: Problem): void {
    const { errorCode, code, message, cause } = problem
    if (this.#episodes.begin(problemKind(errorCode, code), key)) {
      const controller = this.controller.name
      this.#parts.observer.problem({ controller, key, errorCode, message, cause })
    }
    this.#retry(key)
  }

  #retry(key: string): void {
    this.#parts.observer.retried(this.controller.name)
    this.#queue.retry(key)
  }
}

interface Problem {
  readonly errorCode: string
  /** The HTTP status, if the problem is a refusal by the server. */
  readonly code?: number
  readonly message: string
  readonly cause?: unknown
}

/** The kind of a problem. Refusals with different HTTP statuses are different kinds, so that none hides another. */
function problemKind(errorCode: string, status: number | undefined): string {
  return status === undefined ? errorCode : `${errorCode} ${status}`
}

function errorCodeOf(kind: string): string {
  return kind.split(' ', 1)[0] ?? kind
}

function resultOf(answer: ApiResult<unknown>): WriteResult {
  if (answer.ok) return 'done'
  const { code } = answer.failure
  return code === 409 || code === 404 ? 'conflict' : 'failed'
}

/**
 * The current problems and their keys, so that a problem that affects a thousand keys is reported once when it
 * begins and once when it ends.
 */
export class ProblemEpisodes {
  readonly #keysOf = new Map<string, Set<string>>()

  /** Records a problem of a key; returns whether the episode of this kind begins with it. */
  begin(kind: string, key: string): boolean {
    const keys = this.#keysOf.get(kind)
    if (keys === undefined) this.#keysOf.set(kind, new Set([key]))
    else keys.add(key)
    return keys === undefined
  }

  /** Discards all problems, without reporting their end. */
  clear(): void {
    this.#keysOf.clear()
  }

  /** Records that a key was reconciled; returns the kinds of problems that no key has any more. */
  end(key: string): readonly string[] {
    const ended: string[] = []
    for (const [kind, keys] of this.#keysOf) {
      if (keys.delete(key) && keys.size === 0) ended.push(kind)
    }
    for (const kind of ended) this.#keysOf.delete(kind)
    return ended
  }
}

/** See `WorkQueue`; times in milliseconds. */
interface WorkQueueOptions {
  readonly clock: Clock
  /** Called when a key can be taken. */
  readonly onReady: () => void
  /** Keys of the greatest number are taken first. */
  readonly priorityOf?: (key: string) => number
  readonly backoffBaseMs: number
  readonly backoffMaxMs: number
}

interface Timer {
  readonly at: number
  readonly cancel: () => void
}

/**
 * Keys to reconcile, by priority and then in the order in which they were added, each once however often it was added. A key that was taken
 * is not returned again before `done` is called for it. After n failures in succession, a key is added again after
 * `backoffBaseMs × 2ⁿ⁻¹`, at most `backoffMaxMs`.
 */
export class WorkQueue {
  readonly #options: WorkQueueOptions
  readonly #ready = new Set<string>()
  /** The keys that are ready, by the priority that they had when they were added. */
  readonly #byPriority = new Map<number, Set<string>>()
  readonly #taken = new Set<string>()
  /** Keys that were added while they were taken. */
  readonly #again = new Set<string>()
  readonly #timers = new Map<string, Timer>()
  readonly #failures = new Map<string, number>()

  constructor(options: WorkQueueOptions) {
    this.#options = options
  }

  /** The number of keys that can be taken now, or as soon as `done` is called for them. */
  get depth(): number {
    return this.#ready.size + this.#again.size
  }

  /** Whether `take` would return a key. */
  get hasReady(): boolean {
    return this.#ready.size > 0
  }

  /** Adds a key now, even if it waits for a timer. */
  add(key: string): void {
    this.#timers.get(key)?.cancel()
    this.#timers.delete(key)
    if (this.#taken.has(key)) this.#again.add(key)
    else {
      this.#rank(key)
      this.#options.onReady()
    }
  }

  #rank(key: string): void {
    if (this.#ready.has(key)) return
    const priority = this.#options.priorityOf?.(key) ?? 0
    this.#ready.add(key)
    this.#byPriority.getOrInsertComputed(priority, () => new Set<string>()).add(key)
  }

  /** Adds the key after `ms`, unless another call adds it sooner. */
  addAfter(key: string, ms: number): void {
    const { clock } = this.#options
    const at = clock.now() + ms
    const pending = this.#timers.get(key)
    if (pending !== undefined && pending.at <= at) return
    pending?.cancel()
    this.#timers.set(key, { at, cancel: clock.after(ms, () => this.add(key)) })
  }

  /** Adds a key that failed, after a delay that doubles with each call until `forget`. */
  retry(key: string): void {
    const { backoffBaseMs, backoffMaxMs } = this.#options
    const failures = this.#failures.get(key) ?? 0
    this.#failures.set(key, failures + 1)
    this.addAfter(key, Math.min(backoffMaxMs, backoffBaseMs * 2 ** Math.min(failures, 30)))
  }

  /** Forgets the failures of a key that succeeded: its next failure counts as the first. */
  forget(key: string): void {
    this.#failures.delete(key)
  }

  /** Removes the oldest key of the greatest priority and returns it; undefined if none is ready. */
  take(): string | undefined {
    if (this.#ready.size === 0) return undefined
    const greatest = Math.max(...this.#byPriority.keys())
    const keys = this.#byPriority.get(greatest) ?? new Set()
    const [key] = keys
    if (key === undefined) return undefined
    keys.delete(key)
    if (keys.size === 0) this.#byPriority.delete(greatest)
    this.#ready.delete(key)
    this.#taken.add(key)
    return key
  }

  /** Reports that a key that was taken has been reconciled, successfully or not. */
  done(key: string): void {
    this.#taken.delete(key)
    if (this.#again.delete(key)) this.add(key)
  }

  /** Removes every key that waits, and the counts of failures. */
  clear(): void {
    for (const { cancel } of this.#timers.values()) cancel()
    const kept = [this.#ready, this.#byPriority, this.#again, this.#timers, this.#failures]
    for (const one of kept) one.clear()
  }
}
