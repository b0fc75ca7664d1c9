import type { Clock } from '../../lib/clock.ts'
import type { ForeignChange, ObjectKey } from '../mode.ts'
import type { SetMembers } from './set-members.ts'

/** The interval at which objects are read whose changes the kernel does not report. */
const EVERY_MS = 1_000

/** Members; to read more would hold up changes. Verification reads larger sets, too. */
const LARGEST_SET = 1_000

/** What is checked, when, and who is notified of a change. */
export interface DriftCheckerParts {
  readonly clock: Clock
  /** Runs nothing else of the mode meanwhile. */
  exclusively(work: () => Promise<void>): Promise<void>
  /** One round: what another program has changed; empty: everything that was looked at is as we left it. */
  look(): Promise<ForeignChange['keys']>
  onForeignChange(change: ForeignChange): void
}

/** Checks once a second, never runs two rounds at once, and goes on after a request that got no answer. */
export class DriftChecker {
  readonly #parts: DriftCheckerParts
  #cancel: () => void = () => {}
  #stopped = false

  constructor(parts: DriftCheckerParts) {
    this.#parts = parts
    this.#schedule()
  }

  /** After this call no round starts, and a running round reports nothing. */
  stop(): void {
    this.#stopped = true
    this.#cancel()
  }

  #schedule(): void {
    if (this.#stopped) return
    this.#cancel = this.#parts.clock.after(EVERY_MS, () => void this.#round())
  }

  async #round(): Promise<void> {
    const parts = this.#parts
    let change: ForeignChange = { keys: [], by: 'another program' }
    try {
      await parts.exclusively(async () => {
        if (!this.#stopped) change = { ...change, keys: await parts.look() }
      })
    } catch {
      change = { keys: 'all', by: 'an unknown program: the check got no answer' }
    }
    const isChanged = change.keys === 'all' || change.keys.length > 0
    if (isChanged && !this.#stopped) parts.onForeignChange(change)
    this.#schedule()
  }
}

/**
 * Whether sets, of which the kernel reports no changes, are as we left them, in steps that cost little: the number of
 * members of all, and one set in its turn member for member.
 */
export class SetInspector {
  readonly #sets: SetMembers
  #next = 0

  constructor(sets: SetMembers) {
    this.#sets = sets
  }

  /** One round: members that are otherwise than we left them; all where a set holds more or fewer than we put in. */
  async look(): Promise<'all' | readonly ObjectKey[]> {
    if ((await this.#sets.disturbed()).length > 0) return 'all'
    const { names } = this.#sets
    const name = names[this.#next++ % names.length] ?? ''
    return this.#sets.sizeOf(name) > LARGEST_SET ? [] : this.#sets.alteredIn(name)
  }
}
