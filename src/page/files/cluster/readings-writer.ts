import type { Store } from '../data/store.ts'
import type { NodeReading, NodeReadings } from '../nodes/node-reading.ts'

/** Answers of hundreds of nodes that arrive within such a time, in milliseconds, are one change of the page. */
const TOGETHER_MS = 400

/** Writes readings of single nodes into the store of all, several at a time. */
export class ReadingsWriter {
  readonly #store: Store<NodeReadings>
  readonly #pending = new Map<string, NodeReading>()
  #isWriting = false

  constructor(store: Store<NodeReadings>) {
    this.#store = store
  }

  /** The reading of a node, also where the store does not have it yet. */
  get(name: string): NodeReading | undefined {
    return this.#pending.get(name) ?? this.#store.value.get(name)
  }

  put(name: string, reading: NodeReading): void {
    this.#pending.set(name, reading)
    if (this.#isWriting) return
    this.#isWriting = true
    setTimeout(() => this.#write(), TOGETHER_MS)
  }

  #write(): void {
    this.#isWriting = false
    this.#store.set(new Map([...this.#store.value, ...this.#pending]))
    this.#pending.clear()
  }
}
