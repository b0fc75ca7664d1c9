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
  /** Called when this process closed loopback. */
  readonly onClosed: () => void
}

/** Between two checks of the state. */
const CHECK_MS = 60_000
/** Between a failure and the next attempt: often another program has the lock of iptables for a moment. */
const RETRY_MS = 10_000
const REASON = 'loopback-routing'

/**
 * Opens and closes loopback routing in the running daemon. Until `open` or `close` is called, it only
 * guards an open loopback. It checks the state every minute, so a guard that another
 * program removed is written again; a failed attempt is repeated after 10 s.
 */
export class LoopbackControl {
  readonly #parts: LoopbackControlParts
  readonly #mutex = new Mutex()
  readonly #cancel: () => void
  #isWanted: boolean | undefined
  /** The last attempt failed, or left nothing to check. */
  #outcome: 'failed' | 'nothing left' | undefined
  #isStopped = false
  #cancelRetry = (): void => {}

  constructor(parts: LoopbackControlParts) {
    this.#parts = parts
    const round = () => this.#settle()
    this.#cancel = regularly({ clock: parts.clock, everyMs: CHECK_MS, round, onError: () => {} })
  }

  /** Guards loopback if it is open already. Never rejects. */
  start(): Promise<void> {
    return this.#settle()
  }

  /** The rules of a mode that routes loopback are in the kernel. To be called after every write. */
  open(): void {
    const isTried = this.#parts.routing.isOpen || this.#outcome === 'failed'
    if (this.#isWanted === true && isTried) return
    this.#isWanted = true
    void this.#settle()
  }

  /** No active mode routes loopback. */
  close(): void {
    this.#isWanted = false
    void this.#settle()
  }

  /** Ends the checks; resolves when the last write is done. */
  async stop(): Promise<void> {
    this.#cancel()
    this.#cancelRetry()
    this.#isStopped = true
    await this.#mutex.run(async () => {})
  }

  #settle(): Promise<void> {
    return this.#mutex.run(async () => {
      this.#cancelRetry()
      if (this.#isStopped) return
      const { conditions } = this.#parts
      try {
        this.#outcome = await this.#act()
        conditions.clear(REASON)
      } catch (error) {
        this.#outcome = 'failed'
        this.#cancelRetry = this.#parts.clock.after(RETRY_MS, () => void this.#settle())
        conditions.raise(REASON, { message: messageOf(error), blocksReadiness: false })
      }
    })
  }

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
