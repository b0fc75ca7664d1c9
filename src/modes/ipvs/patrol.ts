import type { Clock } from '../../lib/clock.ts'
import type { ForeignChange, ObjectKey } from '../mode.ts'
import { digestText } from './server-spec.ts'
import type { SetMembers } from './set-members.ts'
import type { VirtualServers } from './virtual-servers.ts'

/** IPVS tells nobody of changes, so somebody has to look. */
const EVERY_MS = 1_000
/** Virtual servers looked at in each round besides the sentinel. */
const PER_ROUND = 16
/** Members; to read more would hold up changes. Verification reads larger sets, too. */
const LARGEST_SET = 1_000

export interface PatrolParts {
  readonly clock: Clock
  readonly servers: VirtualServers
  readonly sets: SetMembers
  /** Runs nothing else of the mode meanwhile. */
  exclusively(work: () => Promise<void>): Promise<void>
  /** Part of every round. */
  housekeeping(): Promise<void>
  onForeignChange(change: ForeignChange): void
}

/**
 * Once a second: is a virtual server of ours still there (a flush removes all of
 * them), do the sets hold as many members as we put in, and are the next few virtual
 * servers and the next set as we left them. Never waits for itself.
 */
export class Patrol {
  readonly #parts: PatrolParts
  #cancel: () => void = () => {}
  #stopped = false
  #position = 0
  #nextSet = 0

  constructor(parts: PatrolParts) {
    this.#parts = parts
    this.#schedule()
  }

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
    let change: ForeignChange | undefined
    try {
      await parts.exclusively(async () => {
        if (this.#stopped) return
        change = await this.#look()
        await parts.housekeeping()
      })
    } catch {
      change = { keys: 'all', by: 'an unanswered question' }
    }
    if (change && !this.#stopped) parts.onForeignChange(change)
    this.#schedule()
  }

  async #look(): Promise<ForeignChange | undefined> {
    const { servers, sets } = this.#parts
    const by = 'another program'
    if ((await sets.disturbed()).length > 0) return { keys: 'all', by }
    const sample = this.#next([...servers.known.keys()])
    const texts = await servers.look(sample)
    if (sample.length > 0 && texts.size === 0) return { keys: 'all', by }
    const altered = sample.filter((key) => {
      const [now, known] = [texts.get(key), servers.known.get(key)]
      return now === undefined || known === undefined || digestText(now) !== digestText(known)
    })
    const keys = [...altered, ...(await this.#alteredMembers())]
    return keys.length > 0 ? { keys, by } : undefined
  }

  async #alteredMembers(): Promise<readonly ObjectKey[]> {
    const { sets } = this.#parts
    const name = sets.names[this.#nextSet++ % sets.names.length] ?? ''
    return sets.sizeOf(name) > LARGEST_SET ? [] : sets.alteredIn(name)
  }

  #next(keys: readonly ObjectKey[]): readonly ObjectKey[] {
    if (this.#position >= keys.length) this.#position = 0
    const sample = keys.slice(this.#position, this.#position + PER_ROUND)
    this.#position += PER_ROUND
    return sample
  }
}
