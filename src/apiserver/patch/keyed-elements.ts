import { isJsonObject, type Json, type JsonObject, ownValue } from '../../lib/json.ts'

/** A list whose elements are identified by one of their fields; of equal ones the first counts. */
export class KeyedElements {
  /** Undefined: deleted. */
  readonly #elements: (Json | undefined)[]
  readonly #key: string
  /** Of the first element of each id. */
  readonly #indexes = new Map<Json, number>()

  constructor(elements: readonly Json[], key: string) {
    this.#elements = [...elements]
    this.#key = key
    for (let index = elements.length - 1; index >= 0; index--) this.#note(index)
  }

  get(id: Json): JsonObject | undefined {
    const element = this.#elements[this.#indexes.get(id) ?? -1]
    return isJsonObject(element) ? element : undefined
  }

  /** Replaces the element at its position; a new one comes last. */
  set(id: Json, element: JsonObject): void {
    const index = this.#indexes.get(id) ?? this.#elements.length
    this.#elements[index] = element
    this.#indexes.set(id, index)
  }

  delete(id: Json): void {
    const index = this.#indexes.get(id)
    if (index === undefined) return
    this.#elements[index] = undefined
    this.#indexes.delete(id)
  }

  list(): Json[] {
    return this.#elements.filter((element) => element !== undefined)
  }

  #note(index: number): void {
    const element = this.#elements[index]
    const id = isJsonObject(element) ? ownValue(element, this.#key) : undefined
    if (id !== undefined) this.#indexes.set(id, index)
  }
}
