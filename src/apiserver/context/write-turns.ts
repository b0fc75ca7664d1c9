import type { Written } from '../encoding/codec.ts'
import type { RequestDeadline } from '../request/request-deadline.ts'

/** The right to write one object until `end`. */
export interface Turn {
  /** The object as the last of the previous writers wrote it; undefined: none wrote. The caches may not show it yet. */
  readonly newest: Written | undefined
  /** Gives the turn to the next writer. `newest`: the object as this writer wrote it, if it did. */
  end(newest?: Written): void
}

/** Writers that wait for one object, in the order of their arrival. */
type Queue = Set<(turn: Turn) => void>

/**
 * The writers of one object take turns, first come, first served. Each starts from the object that the writer
 * before it left, so none fails because another request of this server wrote first. Writers of other replicas
 * are not in the queue. A writer whose deadline passes leaves the queue. A queue exists only while its object
 * is being written.
 */
export class WriteTurns {
  readonly #queues = new Map<string, Queue>()

  /**
   * The turn to write the object with this storage key: at once when no other request writes it, else a promise,
   * which is undefined when the deadline passes first.
   */
  take(key: string, deadline: RequestDeadline): Turn | Promise<Turn | undefined> {
    const queue = this.#queues.get(key)
    if (queue !== undefined) return wait(queue, deadline.signal)
    const first: Queue = new Set()
    this.#queues.set(key, first)
    return this.#turn(key, first, undefined)
  }

  /** How many objects are being written. */
  get size(): number {
    return this.#queues.size
  }

  #turn(key: string, queue: Queue, newest: Written | undefined): Turn {
    return { newest, end: (left = newest) => this.#next(key, queue, left) }
  }

  #next(key: string, queue: Queue, newest: Written | undefined): void {
    const [start] = queue
    if (start === undefined) {
      this.#queues.delete(key)
      return
    }
    queue.delete(start)
    start(this.#turn(key, queue, newest))
  }
}

function wait(queue: Queue, signal: AbortSignal): Promise<Turn | undefined> {
  if (signal.aborted) return Promise.resolve(undefined)
  return new Promise((resolve) => {
    const leave = (): void => {
      queue.delete(start)
      resolve(undefined)
    }
    const start = (turn: Turn): void => {
      signal.removeEventListener('abort', leave)
      resolve(turn)
    }
    signal.addEventListener('abort', leave, { once: true })
    queue.add(start)
  })
}
