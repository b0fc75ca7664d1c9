import type { Json } from '../model/json.ts'
import type { SetElements } from '../model/set-elements.ts'
import type { Part } from '../model/value.ts'

/** How elements of one set are read. */
export interface ElementSource {
  /** The key by which one is looked up; undefined: all are read. */
  keyOf(parts: readonly Part[]): Buffer | undefined
  lookUp(key: Buffer): Promise<readonly Json[]>
  /** Undefined: the set cannot be listed; it may be gone meanwhile. */
  all(): Promise<readonly Json[] | undefined>
}

/** Elements that are read when a packet needs them. */
export class UnreadElements implements SetElements {
  readonly #source: ElementSource
  readonly #known = new Map<string, readonly Json[]>()
  readonly #missing = new Map<string, Buffer>()
  #isMissing = false
  #all: readonly Json[] | undefined
  #isGone = false

  constructor(source: ElementSource) {
    this.#source = source
  }

  withKey(parts: readonly Part[]): readonly Json[] | undefined {
    if (this.#all !== undefined || this.#isGone) return this.#all
    const key = this.#source.keyOf(parts)
    if (key === undefined) {
      this.#isMissing = true
      return undefined
    }
    const text = key.toString('hex')
    const known = this.#known.get(text)
    if (known === undefined) this.#missing.set(text, key)
    return known
  }

  /** Reads what was needed; whether there was anything. */
  async read(): Promise<boolean> {
    const missing = [...this.#missing]
    const isMissing = this.#isMissing
    this.#missing.clear()
    this.#isMissing = false
    if (isMissing) {
      this.#all = await this.#source.all()
      this.#isGone = this.#all === undefined
    } else for (const [text, key] of missing) this.#known.set(text, await this.#source.lookUp(key))
    return isMissing || missing.length > 0
  }
}
