import type { Clock } from '../../lib/clock.ts'
import { FairQueue, type Waiting } from './fair-queue.ts'

/** Frees the slot for the next request; calling it again does nothing. */
export type Release = () => void

/** Why a request is rejected, as Kubernetes labels it in metrics. */
export type RejectionReason = 'queue-full' | 'time-out'

export interface ConcurrencyLimitOptions {
  readonly clock: Clock
  /** Requests that run at one time. */
  readonly slots: number
  /** Requests that may wait. */
  readonly queueLength: number
  /** Milliseconds that a request waits before it is rejected. */
  readonly waitMs: number
}

/** Bounds how many requests run at one time; further requests wait in a queue that is fair to clients. */
export class ConcurrencyLimit {
  readonly #options: ConcurrencyLimitOptions
  readonly #queue: FairQueue
  #running = 0

  constructor(options: ConcurrencyLimitOptions) {
    this.#options = options
    this.#queue = new FairQueue(options.queueLength)
  }

  get running(): number {
    return this.#running
  }

  get waiting(): number {
    return this.#queue.size
  }

  /** Takes a slot for a request of `client`, synchronously when one is free. */
  acquire(client: string): Release | Promise<Release | RejectionReason> {
    if (this.#running < this.#options.slots) return this.#occupy()
    const { clock, waitMs } = this.#options
    return new Promise((resolve) => {
      const cancel = clock.after(waitMs, () => {
        this.#queue.remove(client, waiting)
        resolve('time-out')
      })
      const waiting: Waiting = {
        start: () => {
          cancel()
          resolve(this.#occupy())
        },
        reject: () => {
          cancel()
          resolve('queue-full')
        },
      }
      this.#queue.push(client, waiting)
    })
  }

  #occupy(): Release {
    this.#running++
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      this.#running--
      this.#queue.shift()?.start()
    }
  }
}
