import type { Change } from './change.ts'

/**
 * The recent changes of one resource, numbered without gaps. Watchers hold a
 * number, not changes: a watcher whose number has left the window fell behind.
 */
export class ChangeWindow {
  readonly #maxChanges: number
  readonly #maxBytes: number
  #changes: Change[] = []
  #head = 0
  #first = 0
  #bytes = 0
  #floor = 0

  constructor(maxChanges: number, maxBytes: number) {
    this.#maxChanges = maxChanges
    this.#maxBytes = maxBytes
  }

  /** Number of the oldest change that is kept. */
  get first(): number {
    return this.#first
  }

  /** Number that the next change will have. */
  get next(): number {
    return this.#first + this.#changes.length - this.#head
  }

  /** Watches can start after this revision or any later one. */
  get floor(): number {
    return this.#floor
  }

  at(number: number): Change | undefined {
    return number < this.#first ? undefined : this.#changes[this.#head + number - this.#first]
  }

  push(change: Change): void {
    this.#changes.push(change)
    this.#bytes += sizeOf(change)
    while (this.next - this.#first > this.#maxChanges || this.#bytes > this.#maxBytes) {
      if (this.next - this.#first === 1) return
      this.#dropFirst()
    }
  }

  /** Number of the first change after `revision`; undefined when that may be gone. */
  numberAfter(revision: number): number | undefined {
    if (revision < this.#floor) return undefined
    let low = this.#head
    let high = this.#changes.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#changes[middle]!.revision <= revision) low = middle + 1
      else high = middle
    }
    return this.#first + low - this.#head
  }

  /** Forgets everything: every watcher, even one that was up to date, fell behind. */
  reset(floor: number): void {
    this.#first = this.next + 1
    this.#changes = []
    this.#head = 0
    this.#bytes = 0
    this.#floor = floor
  }

  #dropFirst(): void {
    const change = this.#changes[this.#head++]!
    this.#first++
    this.#bytes -= sizeOf(change)
    this.#floor = change.revision
    if (this.#head > 256 && this.#head > this.#changes.length / 2) {
      this.#changes = this.#changes.slice(this.#head)
      this.#head = 0
    }
  }
}

/** The value, about as much again for its event frame, and the bookkeeping. */
function sizeOf(change: Change): number {
  return 2 * (change.after ?? change.before)!.value.length + 500
}
