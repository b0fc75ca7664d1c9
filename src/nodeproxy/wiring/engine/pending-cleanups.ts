import type { Clock } from '../../../lib/clock.ts'
import { sleep } from '../../../lib/sleep.ts'
import type { Logger } from '../../../telemetry/logger.ts'

/** A mode that is to leave the node to another; see `Mode.retire`. */
export interface Retiree {
  retire(signal: AbortSignal): Promise<void>
  readonly draining?: number
}

export interface RetirementsParts {
  readonly clock: Clock
  readonly log: Logger
}

interface Leaving {
  readonly retiree: Retiree
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
  readonly #owed = new Map<string, Retiree>()
  readonly #leaving = new Map<string, Leaving>()

  constructor(parts: RetirementsParts) {
    this.#parts = parts
  }

  /** This mode may hold something in the kernel and is not at work; the last word counts. */
  owe(mode: string, retiree: Retiree): void {
    this.#owed.set(mode, retiree)
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
    for (const [other, retiree] of this.#owed) {
      if (!this.#leaving.has(other)) this.#begin(other, retiree)
    }
  }

  /** Backends that keep connections in modes that leave. */
  get draining(): number {
    const counts = [...this.#leaving.values()].map(({ retiree }) => retiree.draining ?? 0)
    return counts.reduce((sum, count) => sum + count, 0)
  }

  /** The kernel keeps what it has. */
  async stop(): Promise<void> {
    this.#owed.clear()
    await Promise.all([...this.#leaving.keys()].map((mode) => this.recall(mode)))
  }

  #begin(mode: string, retiree: Retiree): void {
    const stop = new AbortController()
    const ended = this.#retire(mode, retiree, stop.signal).finally(() => {
      this.#leaving.delete(mode)
    })
    this.#leaving.set(mode, { retiree, stop, ended })
  }

  async #retire(mode: string, retiree: Retiree, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#parts
    while (!signal.aborted) {
      try {
        await retiree.retire(signal)
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
