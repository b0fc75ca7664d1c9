import type { Poller } from '../../../../kernel/sockets/poller.ts'
import type { Sockets } from '../../../../kernel/sockets/sockets.ts'

/** Handles the events of a descriptor. */
export interface Handler {
  ready(descriptor: number, events: number): void
}

/** Milliseconds between two wake-ups without events. */
const TICK_MS = 1_000

/**
 * The loop of one thread, which waits in the kernel and nowhere else: it never returns to Node's own event loop.
 * Descriptors are closed at the end of a round. If one were closed earlier, the kernel could reuse the number, and an
 * event of the old descriptor would reach the new one.
 */
export class EventLoop {
  readonly #timers = new Timers()
  readonly #sockets: Sockets
  readonly #poller: Poller
  readonly #handlers: (Handler | undefined)[] = []
  readonly #silent = new Set<number>()
  #closing: number[] = []
  #nextRound: (() => void)[] = []
  #now: number | undefined
  #stopped = false

  constructor(sockets: Sockets, poller: Poller) {
    this.#sockets = sockets
    this.#poller = poller
  }

  /** Whole milliseconds of the monotonic clock, read when first needed after the last wait. */
  get now(): number {
    this.#now ??= Math.floor(performance.now())
    return this.#now
  }

  /** Watches for reading and writing, edge-triggered. */
  watch(descriptor: number, handler: Handler): boolean {
    this.#handlers[descriptor] = handler
    return this.#poller.addEdge(descriptor)
  }

  /** Watches for reading, level-triggered; `shared` with other threads. */
  watchReadable(descriptor: number, handler: Handler, shared = false): boolean {
    this.#handlers[descriptor] = handler
    return shared ? this.#poller.addShared(descriptor) : this.#poller.addReadable(descriptor)
  }

  /** Runs `task` after so many milliseconds; the result cancels it. */
  after(ms: number, task: () => void): () => void {
    return this.#timers.after(this.now, ms, task)
  }

  /** Closes a descriptor; its handler gets no further event. */
  close(descriptor: number): void {
    this.#handlers[descriptor] = undefined
    this.#silent.delete(descriptor)
    this.#closing.push(descriptor)
  }

  /** Handles no more events of a connection, which stays open until `close`, or until the loop ends and resets it. */
  silence(socket: number): void {
    this.#handlers[socket] = undefined
    this.#silent.add(socket)
  }

  /** Stops watching a descriptor that stays open. */
  forget(descriptor: number): void {
    this.#handlers[descriptor] = undefined
    this.#poller.remove(descriptor)
  }

  /** Runs a task in the next round: for work that would keep others waiting. */
  inNextRound(task: () => void): void {
    this.#nextRound.push(task)
  }

  stop(): void {
    this.#stopped = true
  }

  /** Returns only after `stop`. */
  run(): void {
    const onReady = (descriptor: number, events: number) =>
      this.#handlers[descriptor]?.ready(descriptor, events)
    while (!this.#stopped) {
      const timeout = this.#timeout()
      this.#now = undefined
      this.#poller.wait(timeout, onReady)
      this.#runDeferred()
      this.#timers.run(this.now)
      this.#closeAll()
    }
    for (const socket of this.#silent) {
      this.#sockets.resetOnClose(socket)
      this.close(socket)
    }
    this.#closeAll()
  }

  #timeout(): number {
    if (this.#nextRound.length > 0) return 0
    return Math.min(this.#timers.next(this.now), TICK_MS)
  }

  #runDeferred(): void {
    if (this.#nextRound.length === 0) return
    const tasks = this.#nextRound
    this.#nextRound = []
    for (const task of tasks) task()
  }

  #closeAll(): void {
    if (this.#closing.length === 0) return
    for (const descriptor of this.#closing) this.#sockets.sys.close(descriptor)
    this.#closing = []
  }
}

/** A task and the time at which it is due, in milliseconds of the loop's clock. */
interface Timer {
  readonly at: number
  readonly task: () => void
  isCancelled: boolean
}

/**
 * Timers of one thread. Those of the same duration end in the order in which they were set, so each duration has a
 * queue. The cost of setting or cancelling a timer does not depend on their number.
 */
class Timers {
  readonly #queues = new Map<number, Timer[]>()

  /** Runs `task` at `now` + `ms`; returns a function that cancels it. */
  after(now: number, ms: number, task: () => void): () => void {
    const timer: Timer = { at: now + ms, task, isCancelled: false }
    const queue = this.#queues.get(ms)
    if (queue) queue.push(timer)
    else this.#queues.set(ms, [timer])
    return () => {
      timer.isCancelled = true
    }
  }

  /** Milliseconds until the next timer is due; infinite without a timer. */
  next(now: number): number {
    let next = Number.POSITIVE_INFINITY
    for (const queue of this.#queues.values()) {
      const first = queue[0]
      if (first) next = Math.min(next, first.at)
    }
    return Math.max(next - now, 0)
  }

  /** Runs all that are due. */
  run(now: number): void {
    for (const [ms, queue] of this.#queues) {
      let passed = 0
      while (passed < queue.length) {
        const timer = queue[passed]
        if (timer === undefined || (timer.at > now && !timer.isCancelled)) break
        passed++
        if (!timer.isCancelled) timer.task()
      }
      if (passed > 0) queue.splice(0, passed)
      if (queue.length === 0) this.#queues.delete(ms)
    }
  }
}
