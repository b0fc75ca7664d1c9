import { type ElementStore, type HeldElement, isExpired } from './element-store.ts'

/** Elements with one key each: a hash table. */
export class SingleKeys implements ElementStore {
  readonly #held = new Map<string, HeldElement>()

  get count(): number {
    return this.#held.size
  }

  conflict({ element }: HeldElement, now: number): HeldElement | undefined {
    return this.match(element.key, now)
  }

  toDelete({ element }: HeldElement, now: number): HeldElement | undefined {
    return this.match(element.key, now)
  }

  match(key: Buffer, now: number): HeldElement | undefined {
    const held = this.#held.get(key.toString('latin1'))
    return held && isExpired(held, now) ? undefined : held
  }

  insert(held: HeldElement): void {
    this.#held.set(held.element.key.toString('latin1'), held)
  }

  remove(held: HeldElement): void {
    const key = held.element.key.toString('latin1')
    if (this.#held.get(key) === held) this.#held.delete(key)
  }

  all(): Iterable<HeldElement> {
    return this.#held.values()
  }
}
