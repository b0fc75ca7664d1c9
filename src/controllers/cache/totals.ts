/** What one object adds to totals of its collection: names and whole numbers. */
export type Totals = readonly (readonly [name: string, amount: number])[]

/**
 * Sums over a collection, updated with each change, so that no reconcile has to read all objects. Amounts are
 * whole numbers, so that a sum does not depend on the order of additions. A total to which no object adds is
 * absent.
 */
export class Tally<T> {
  readonly #totalsOf: (object: T) => Totals
  readonly #sums = new Map<string, { amount: number; objects: number }>()
  readonly totals = new Map<string, number>()

  constructor(totalsOf: (object: T) => Totals) {
    this.#totalsOf = totalsOf
  }

  changed(before: T | undefined, after: T | undefined): void {
    if (before !== undefined) this.#add(this.#totalsOf(before), -1)
    if (after !== undefined) this.#add(this.#totalsOf(after), 1)
  }

  #add(totals: Totals, sign: 1 | -1): void {
    for (const [name, amount] of totals) {
      const sum = this.#sums.getOrInsertComputed(name, () => ({ amount: 0, objects: 0 }))
      sum.amount += sign * amount
      sum.objects += sign
      this.totals.set(name, sum.amount)
      if (sum.objects === 0) {
        this.#sums.delete(name)
        this.totals.delete(name)
      }
    }
  }
}
