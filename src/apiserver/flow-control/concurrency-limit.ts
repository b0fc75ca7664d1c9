import type { Clock } from '../../lib/clock.ts'
import { FairQueue, type Waiting } from './fair-queue.ts'

/** Gives the place to the next one; calling it again does nothing. */
export type Release = () => void

/** Why a request is not served, in the ecosystem's words. */
export type FlowRefusal = 'queue-full' | 'time-out'

export interface SeatOptions {
  readonly clock: Clock
  /** Requests at one time. */
  readonly seats: number
  /** Requests that wait. */
  readonly queued: number
  /** How long one waits at the most. */
  readonly waitMs: number
}

/** So many requests at one time; others wait for a while, in a fair order. */
export class Seats {
  readonly #options: SeatOptions
  readonly #queue: FairQueue
  #taken = 0

  constructor(options: SeatOptions) {
    this.#options = options
    this.#queue = new FairQueue(options.queued)
  }

  get taken(): number {
    return this.#taken
  }

  get waiting(): number {
    return this.#queue.size
  }

  /** A place for one request of a client, at once where there is one. */
  take(client: string): Release | Promise<Release | FlowRefusal> {
    if (this.#taken < this.#options.seats) return this.#occupy()
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
    this.#taken++
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      this.#taken--
      this.#queue.shift()?.start()
    }
  }
}
