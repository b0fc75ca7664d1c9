import type { Clock } from '../../../lib/clock.ts'
import { sleep } from '../../../lib/sleep.ts'
import type { Logger } from '../../../telemetry/logger.ts'

/** A mode whose state is to be removed from the kernel; see `Mode.retire`. */
export interface Retiree {
  retire(signal: AbortSignal): Promise<void>
  readonly draining?: number
}

export interface PendingCleanupsParts {
  readonly clock: Clock
  readonly log: Logger
}

interface Removal {
  readonly retiree: Retiree
  readonly stop: AbortController
  readonly ended: Promise<void>
}

const RETRY_MS = 30_000

/**
 * Modes whose state is still in the kernel although they are not at work. Each is removed in the
 * background once another mode is complete. Recalling a mode stops its removal first.
 */
export class PendingCleanups {
  readonly #parts: PendingCleanupsParts
  readonly #pending = new Map<string, Retiree>()
  readonly #running = new Map<string, Removal>()

  constructor(parts: PendingCleanupsParts) {
    this.#parts = parts
  }

  /** `mode` may have state in the kernel and is not at work. Replaces an earlier call for it. */
  add(mode: string, retiree: Retiree): void {
    this.#pending.set(mode, retiree)
  }

  /** `mode` is to work again: resolves when its removal has ended. */
  async recall(mode: string): Promise<void> {
    const removal = this.#running.get(mode)
    removal?.stop.abort()
    await removal?.ended
  }

  /** `mode` is at work and holds every object: starts the removal of all others. */
  completed(mode: string): void {
    this.#pending.delete(mode)
    for (const [other, retiree] of this.#pending) {
      if (!this.#running.has(other)) this.#begin(other, retiree)
    }
  }

  /** Backends that keep connections in modes that are being removed. */
  get draining(): number {
    const counts = [...this.#running.values()].map(({ retiree }) => retiree.draining ?? 0)
    return counts.reduce((sum, count) => sum + count, 0)
  }

  /** Ends all removals; the kernel keeps the rest. */
  async stop(): Promise<void> {
    this.#pending.clear()
    await Promise.all([...this.#running.keys()].map((mode) => this.recall(mode)))
  }

  #begin(mode: string, retiree: Retiree): void {
    const stop = new AbortController()
    const ended = this.#retire(mode, retiree, stop.signal).finally(() => {
      this.#running.delete(mode)
    })
    this.#running.set(mode, { retiree, stop, ended })
  }

  async #retire(mode: string, retiree: Retiree, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#parts
    while (!signal.aborted) {
      try {
        await retiree.retire(signal)
        if (signal.aborted) return
        this.#pending.delete(mode)
        log.info({ mode }, 'removed every rule and object of the previous proxy mode')
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
