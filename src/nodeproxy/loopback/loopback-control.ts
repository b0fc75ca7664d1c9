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
  /** The result of the last attempt: it failed, or there is nothing left to check. Undefined: neither. */
  #outcome: 'failed' | 'nothing left' | undefined
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
    const isTried = this.#parts.routing.isOpen || this.#outcome === 'failed'
    if (this.#isWanted === true && isTried) return
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
        this.#outcome = await this.#act()
        conditions.clear(REASON)
      } catch (error) {
        this.#outcome = 'failed'
        this.#cancelRetry = this.#parts.clock.after(RETRY_MS, () => void this.#attempt())
        conditions.raise(REASON, { message: messageOf(error), blocksReadiness: false })
      }
    })
  }

  /** Opens, guards or closes loopback routing. @throws the errors of `LoopbackRouting` */
  async #act(): Promise<'nothing left' | undefined> {
    const { routing, onClosed } = this.#parts
    if (this.#isWanted === true) return routing.open().then(() => undefined)
    if (this.#isWanted === undefined) return routing.guard().then(() => undefined)
    const wasOpen = routing.isOpen
    if (!wasOpen && this.#outcome === 'nothing left') return this.#outcome
    if ((await routing.close()) !== 'closed') return routing.guard().then(() => undefined)
    if (wasOpen) onClosed()
    return 'nothing left'
  }
}

function messageOf(error: unknown): string {
  if (!(error instanceof NodeProxyError)) return `node ports on 127.0.0.1: ${String(error)}`
  const { message, hint, code } = error
  return `node ports on 127.0.0.1: ${[message, hint].filter(Boolean).join('; ')} (${code})`
}
