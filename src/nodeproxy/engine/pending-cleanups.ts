import { type Clock, sleep } from '../../lib/clock.ts'
import type { PendingCleanup } from '../../modes/definition/mode-driver.ts'
import type { Logger } from '../../telemetry/logger.ts'

/** What `PendingCleanups` uses. */
export interface PendingCleanupsParts {
  readonly clock: Clock
  readonly log: Logger
}

/** A mode whose kernel state is to be removed. */
interface Pending {
  readonly cleanup: PendingCleanup
  /** Whether the mode has served traffic; it determines the level of the log record. */
  readonly wasServing: () => Promise<boolean>
}

/** A removal in progress. */
interface Removal {
  readonly cleanup: PendingCleanup
  readonly stop: AbortController
  /** Resolves when the removal is done or was stopped. Never rejects. */
  readonly ended: Promise<void>
}

/** Milliseconds between a failed removal and the next attempt. */
const RETRY_MS = 30_000

/**
 * Removes the kernel state of modes that are no longer active. A removal begins when the active mode has all its
 * objects in the kernel, and runs in the background. `recall` stops it, so that its mode can become active again.
 */
export class PendingCleanups {
  readonly #parts: PendingCleanupsParts
  readonly #pending = new Map<string, Pending>()
  readonly #running = new Map<string, Removal>()

  constructor(parts: PendingCleanupsParts) {
    this.#parts = parts
  }

  /**
   * Plans the removal of `mode`, which is inactive and may have state in the kernel. Replaces an earlier plan for the
   * same mode. The end of the removal is logged at level info if `wasServing` resolves to true or rejects, else at
   * level debug, because most modes have never run on a node.
   */
  add(mode: string, cleanup: PendingCleanup, wasServing = () => Promise.resolve(true)): void {
    this.#pending.set(mode, { cleanup, wasServing })
  }

  /** To be called before `mode` becomes active: stops its removal, and resolves when it has stopped. */
  async recall(mode: string): Promise<void> {
    const removal = this.#running.get(mode)
    removal?.stop.abort()
    await removal?.ended
  }

  /** To be called when the active `mode` has all its objects in the kernel: starts the removal of all other modes. */
  completed(mode: string): void {
    this.#pending.delete(mode)
    for (const [other, pending] of this.#pending) {
      if (!this.#running.has(other)) this.#begin(other, pending)
    }
  }

  /** The number of backends that still have connections in modes that are being removed. */
  get draining(): number {
    const counts = [...this.#running.values()].map(({ cleanup }) => cleanup.draining ?? 0)
    return counts.reduce((sum, count) => sum + count, 0)
  }

  /** Stops all removals; what is not removed stays in the kernel. */
  async stop(): Promise<void> {
    this.#pending.clear()
    await Promise.all([...this.#running.keys()].map((mode) => this.recall(mode)))
  }

  #begin(mode: string, pending: Pending): void {
    const stop = new AbortController()
    const ended = this.#remove(mode, pending, stop.signal).finally(() => {
      this.#running.delete(mode)
    })
    this.#running.set(mode, { cleanup: pending.cleanup, stop, ended })
  }

  /** Removes a mode; tries again until this succeeds or `signal` is aborted. */
  async #remove(mode: string, pending: Pending, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#parts
    const wasServing = await pending.wasServing().catch(() => true)
    while (!signal.aborted) {
      try {
        await pending.cleanup.drainAndCleanup(signal)
        if (signal.aborted) return
        this.#pending.delete(mode)
        const level = wasServing ? 'info' : 'debug'
        log[level]({ mode }, 'removed every rule and object of the previous proxy mode')
        return
      } catch (error) {
        log.error(
          { err: error, mode },
          'removing the rules and objects of the previous proxy mode failed; trying again in 30 s',
        )
        await sleep(clock, RETRY_MS, signal)
      }
    }
  }
}
