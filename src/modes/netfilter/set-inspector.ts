import type { ObjectKey } from '../mode.ts'
import type { SetMembers } from './set-members.ts'

/** The largest set that is read, in members; reading more would delay changes. Verification also reads larger sets. */
const LARGEST_SET = 1_000

/**
 * Whether sets are as we left them, in cheap steps: the number of members of all sets, and the members of one set in
 * turn.
 */
export class SetInspector {
  readonly #sets: SetMembers
  #next = 0

  constructor(sets: SetMembers) {
    this.#sets = sets
  }

  /** Whether any set holds more or fewer members than expected. */
  async isDisturbed(): Promise<boolean> {
    return (await this.#sets.disturbed()).length > 0
  }

  /** Members of the next set that differ from what we left. */
  async alteredInNext(): Promise<readonly ObjectKey[]> {
    const { names } = this.#sets
    const name = names[this.#next++ % names.length] ?? ''
    return this.#sets.sizeOf(name) > LARGEST_SET ? [] : this.#sets.alteredIn(name)
  }
}
