import type { Clock } from '../../lib/clock.ts'
import { sleep } from '../../lib/sleep.ts'
import type { PendingCleanup } from '../../modes/definition/pending-cleanup.ts'
import type { Logger } from '../../telemetry/logger.ts'

export interface RetirementsParts {
  readonly clock: Clock
  readonly log: Logger
}

interface Leaving {
  readonly pending: PendingCleanup
  readonly stop: AbortController
  readonly ended: Promise<void>
}

const RETRY_MS = 30_000

/**
 * Modes that have left or are to leave, each in the background once another one
 * is complete. One that is wanted back is stopped first.
 */
export class Retirements {
  readonly #parts: RetirementsParts
  readonly #owed = new Map<string, PendingCleanup>()
  readonly #leaving = new Map<string, Leaving>()

  constructor(parts: RetirementsParts) {
    this.#parts = parts
  }

  /** This mode may hold something in the kernel and is not at work; the last word counts. */
  owe(mode: string, pending: PendingCleanup): void {
    this.#owed.set(mode, pending)
  }

  /** The mode is wanted back: resolves when nobody removes anything of it any more. */
  async recall(mode: string): Promise<void> {
    const leaving = this.#leaving.get(mode)
    leaving?.stop.abort()
    await leaving?.ended
  }

  /** `mode` is at work and holds everything: all others leave. */
  completed(mode: string): void {
    this.#owed.delete(mode)
    for (const [other, pending] of this.#owed) {
      if (!this.#leaving.has(other)) this.#begin(other, pending)
    }
  }

  /** Backends that keep connections in modes that leave. */
  get draining(): number {
    const counts = [...this.#leaving.values()].map(({ pending }) => pending.draining ?? 0)
    return counts.reduce((sum, count) => sum + count, 0)
  }

  /** The kernel keeps what it has. */
  async stop(): Promise<void> {
    this.#owed.clear()
    await Promise.all([...this.#leaving.keys()].map((mode) => this.recall(mode)))
  }

  #begin(mode: string, pending: PendingCleanup): void {
    const stop = new AbortController()
    const ended = this.#drainAndCleanUp(mode, pending, stop.signal).finally(() => {
      this.#leaving.delete(mode)
    })
    this.#leaving.set(mode, { pending, stop, ended })
  }

  async #drainAndCleanUp(
    mode: string,
    pending: PendingCleanup,
    signal: AbortSignal,
  ): Promise<void> {
    const { clock, log } = this.#parts
    while (!signal.aborted) {
      try {
        await pending.drainAndCleanup(signal)
        if (signal.aborted) return
        this.#owed.delete(mode)
        log.info({ mode }, 'nothing of this mode is left')
        return
      } catch (error) {
        log.error({ err: error, mode }, 'a mode that is not at work could not be removed yet')
        await sleep(clock, RETRY_MS, signal)
      }
    }
  }
}
