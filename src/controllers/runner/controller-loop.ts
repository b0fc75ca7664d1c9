import { type ApiResult, isTerminating } from '../../client/http/failure.ts'
import type { Clock } from '../../lib/clock.ts'
import type { View } from '../cache/object-cache.ts'
import type { Controller } from './controller.ts'
import type { RunnerObserver, WriteResult } from './observer.ts'
import { WorkQueue } from './work-queue.ts'
import { EventLimit, type EventWrite, isOutdated, reportsOn, type Write } from './write.ts'

/** Times and limits of a controller loop. */
export interface LoopTiming {
  readonly backoffBaseMs: number
  readonly backoffMaxMs: number
  /** The number of keys of one controller that are reconciled at once. */
  readonly workers: number
  /** How long keys are reconciled before the loop yields to the event loop, in milliseconds. */
  readonly turnMs: number
}

/** While more bindings of one controller wait for their answers, it takes no further key. */
const MAX_BINDINGS = 16
/** The number of Events of one controller that are sent at the same time. */
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
  /** The number of keys that are being reconciled, without those that wait for the answer to a binding. */
  #busy = 0
  /** How many keys wait for the answer to a binding. */
  #binding = 0
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
    while (hasWork() && this.#busy < workers && this.#binding <= MAX_BINDINGS && this.#hasTurn()) {
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
    let isBinding = false
    const release = (): void => {
      if (isBinding) return
      isBinding = true
      this.#busy -= 1
      this.#binding += 1
      queueMicrotask(() => this.pump())
    }
    const work = this.#work(key, release).finally(() => {
      if (isBinding) this.#binding -= 1
      else this.#busy -= 1
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
      if (write.verb === 'bind') release()
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
