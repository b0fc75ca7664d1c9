import type { Choose } from './every-choice.ts'

/**
 * What a packet reads of something that changes beside it: each reading sees the state that the one before saw, or a
 * later one. Of the states in which a reading finds the same, the first one is as good as all of them, because every other
 * state comes after it as well.
 */
export class Readings<State> {
  readonly #states: readonly State[]
  readonly #choose: Choose
  #now = 0

  constructor(states: readonly State[], choose: Choose) {
    this.#states = states
    this.#choose = choose
  }

  /** `textOf`: equal for states in which the packet reads the same. */
  read(textOf: (state: State) => string): State {
    const texts = new Set<string>()
    const ways: number[] = []
    for (let at = this.#now; at < this.#states.length; at++) {
      const text = textOf(this.#states[at]!)
      if (texts.has(text)) continue
      texts.add(text)
      ways.push(at)
    }
    this.#now = this.#choose(ways)
    return this.#states[this.#now]!
  }
}
