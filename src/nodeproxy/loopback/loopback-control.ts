import type { Clock } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { Mutex } from '../../lib/mutex.ts'
import { regularly } from '../../lib/regularly.ts'
import type { Conditions } from '../../telemetry/health/conditions.ts'
import type { LoopbackRouting } from './loopback-routing.ts'

/** What `LoopbackControl` uses. */
export interface LoopbackControlParts {
  readonly routing: Pick<LoopbackRouting, 'isOpen' | 'open' | 'guard' | 'close'>
  readonly conditions: Pick<Conditions, 'raise' | 'clear'>
  readonly clock: Clock
  /** Called when this process has closed loopback routing. */
  readonly onClosed: () => void
}

/** Milliseconds between two checks of the state. */
const CHECK_MS = 60_000
/** Milliseconds between a failure and the next attempt: often another program has the xtables lock for a moment. */
const RETRY_MS = 10_000
/** The name of the condition that reports a failure. */
const REASON = 'loopback-routing'

/**
 * Opens and closes loopback routing (see `LoopbackRouting`) in the running daemon. Until `open` or `close` is called,
 * it only writes the guard if loopback routing is open. It checks the state every minute, so a guard that another
 * program removed is written again. It repeats a failed attempt after 10 s.
 */
export class LoopbackControl {
  readonly #parts: LoopbackControlParts
  readonly #mutex = new Mutex()
  readonly #cancel: () => void
  /** Whether loopback routing should be open. Undefined: neither `open` nor `close` was called yet. */
  #isWanted: boolean | undefined
  /** Whether the last attempt failed, so that another one is planned. */
  #hasFailed = false
  /** Whether the last attempt found or made loopback routing closed, and left no guard. */
  #isClosed = false
  #isStopped = false
  #cancelRetry = (): void => {}

  constructor(parts: LoopbackControlParts) {
    this.#parts = parts
    const round = () => this.#attempt()
    this.#cancel = regularly({ clock: parts.clock, everyMs: CHECK_MS, round, onError: () => {} })
  }

  /** Writes the guard if loopback routing is open already. Never rejects. */
  start(): Promise<void> {
    return this.#attempt()
  }

  /**
   * To be called after every write of a mode that needs loopback routing, when its rules are in the kernel. A repeated
   * call does nothing if loopback routing is open, or if the last attempt failed, because that is repeated anyway.
   */
  open(): void {
    const isDoneOrPlanned = this.#parts.routing.isOpen || this.#hasFailed
    if (this.#isWanted === true && isDoneOrPlanned) return
    this.#isWanted = true
    void this.#attempt()
  }

  /** To be called when no active mode needs loopback routing. */
  close(): void {
    this.#isWanted = false
    void this.#attempt()
  }

  /** Ends the checks; resolves when the last write is done. */
  async stop(): Promise<void> {
    this.#cancel()
    this.#cancelRetry()
    this.#isStopped = true
    await this.#mutex.run(async () => {})
  }

  /** Makes one attempt to reach the wanted state; plans another one if it fails. Attempts run one after the other. */
  #attempt(): Promise<void> {
    return this.#mutex.run(async () => {
      this.#cancelRetry()
      if (this.#isStopped) return
      const { conditions } = this.#parts
      try {
        this.#isClosed = await this.#act()
        this.#hasFailed = false
        conditions.clear(REASON)
      } catch (error) {
        this.#isClosed = false
        this.#hasFailed = true
        this.#cancelRetry = this.#parts.clock.after(RETRY_MS, () => void this.#attempt())
        conditions.raise(REASON, { message: messageOf(error), blocksReadiness: false })
      }
    })
  }

  /**
   * Opens, guards or closes loopback routing.
   * @returns whether it is closed without a guard
   * @throws the errors of `LoopbackRouting`
   */
  async #act(): Promise<boolean> {
    const { routing } = this.#parts
    if (this.#isWanted === false) return this.#close()
    await (this.#isWanted === true ? routing.open() : routing.guard())
    return false
  }

  /** Closes loopback routing, or guards it if another program opened it. Returns whether it is closed without a guard. */
  async #close(): Promise<boolean> {
    const { routing, onClosed } = this.#parts
    const wasOpen = routing.isOpen
    if (this.#isClosed && !wasOpen) return true
    if ((await routing.close()) === 'closed') {
      if (wasOpen) onClosed()
      return true
    }
    await routing.guard()
    return false
  }
}

function messageOf(error: unknown): string {
  if (!(error instanceof NodeProxyError)) return `node ports on 127.0.0.1: ${String(error)}`
  const { message, hint, code } = error
  return `node ports on 127.0.0.1: ${[message, hint].filter(Boolean).join('; ')} (${code})`
}
