import { Mutex } from '../../../lib/mutex.ts'

/**
 * Work by its name, one piece at a time. Who wants a piece that waits or runs already gets the same result; undefined:
 * too many others wait.
 */
export class OneAtATime<T> {
  readonly #mutex = new Mutex()
  readonly #unfinished = new Map<string, Promise<T>>()
  readonly #max: number

  /** `max`: pieces that may wait or run. */
  constructor(max: number) {
    this.#max = max
  }

  run(name: string, work: () => Promise<T>): Promise<T> | undefined {
    const present = this.#unfinished.get(name)
    if (present !== undefined || this.#unfinished.size >= this.#max) return present
    const result = this.#mutex.run(work).finally(() => this.#unfinished.delete(name))
    this.#unfinished.set(name, result)
    return result
  }
}
