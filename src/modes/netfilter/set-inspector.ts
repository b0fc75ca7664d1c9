import type { ObjectKey } from '../mode.ts'
import type { SetMembers } from './set-members.ts'

/** Members; to read more would hold up changes. Verification reads larger sets, too. */
const LARGEST_SET = 1_000

/**
 * Whether sets are as we left them, in steps that cost little: the number of members of all,
 * and one set in its turn member for member.
 */
export class SetInspector {
  readonly #sets: SetMembers
  #next = 0

  constructor(sets: SetMembers) {
    this.#sets = sets
  }

  /** Whether any set holds more or fewer members than we put in. */
  async isDisturbed(): Promise<boolean> {
    return (await this.#sets.disturbed()).length > 0
  }

  /** Members of the next set that are otherwise than we left them. */
  async alteredInNext(): Promise<readonly ObjectKey[]> {
    const { names } = this.#sets
    const name = names[this.#next++ % names.length] ?? ''
    return this.#sets.sizeOf(name) > LARGEST_SET ? [] : this.#sets.alteredIn(name)
  }
}
