import type { JsonObject } from '../../../src/lib/json.ts'
import type { ObjectInput, ObjectOutput } from './object-model.ts'
import type { Operation } from './operation.ts'

/** An operation on the object of this name. */
export interface NamedOperation extends Operation<ObjectInput, ObjectOutput> {
  readonly name: string
}

/** The answer to a list: all objects by name, as they were at `version`. */
export interface Listed {
  readonly called: number
  readonly answered: number
  readonly version: number
  readonly objects: ReadonlyMap<string, JsonObject>
}

/** The requests and answers of clients, on one logical clock. */
export class History {
  readonly operations: NamedOperation[] = []
  readonly lists: Listed[] = []
  /** Milliseconds that clients waited for an answer after a server had failed. */
  readonly outages: number[] = []
  #now = 0
  #answers = 0
  readonly #waiting = new Set<{ readonly count: number; readonly resolve: () => void }>()

  tick(): number {
    return this.#now++
  }

  add(operation: NamedOperation): void {
    this.operations.push(operation)
    if (operation.answer !== undefined) this.#count()
  }

  addList(list: Listed): void {
    this.lists.push(list)
    this.#count()
  }

  /** Resolves after this many more answers. */
  answers(more: number): Promise<void> {
    const count = this.#answers + more
    return new Promise((resolve) => this.#waiting.add({ count, resolve }))
  }

  #count(): void {
    this.#answers++
    for (const one of this.#waiting) {
      if (one.count > this.#answers) continue
      this.#waiting.delete(one)
      one.resolve()
    }
  }
}
