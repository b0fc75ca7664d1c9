import type { EntryId } from '../../forwarding/entry.ts'
import { contentHash } from '../../lib/hash.ts'
import { routingBit } from '../netfilter/mark.ts'
import type { NetfilterSettings } from '../netfilter/settings.ts'

type MarkSettings = Pick<NetfilterSettings, 'masqueradeBit'>

/** What the low byte of every mark of ours is, as far as other bits leave it free. */
const LOW_BYTE = 0xa5

/**
 * A virtual server known by a mark and not by an address: the cluster pool of a
 * Service whose external traffic stays local, for pods and processes of this node.
 * IPVS compares all 32 bits. Of them the masquerade bit and the routing bit are 0,
 * one more is 1, and the low byte is fixed, so that our marks can be told from
 * those of others; the rest tells the Service.
 */
export interface MarkPattern {
  /** Bits that are the same in all marks of ours. */
  readonly mask: number
  readonly value: number
}

export function markPattern(settings: MarkSettings): MarkPattern {
  const masquerade = (1 << settings.masqueradeBit) >>> 0
  const reserved = (masquerade | routingBit(settings)) >>> 0
  const own = 2 ** (settings.masqueradeBit < 2 ? 2 : settings.masqueradeBit - 2)
  return {
    mask: (reserved | own | 0xff) >>> 0,
    value: ((LOW_BYTE & ~reserved) | own) >>> 0,
  }
}

export function isShortcutMark(mark: number, { mask, value }: MarkPattern): boolean {
  return (mark & mask) >>> 0 === value
}

/** The `attempt`-th choice (from 0) of a mark for an entry. */
export function markOf(id: EntryId, attempt: number, { mask, value }: MarkPattern): number {
  const hash = contentHash(`${id}|${attempt}`) % 2 ** 32
  return ((hash & ~mask) | value) >>> 0
}

/**
 * Gives each entry a mark of its own. Entries whose marks collide are served in the
 * order of their ids, so the outcome depends on who is there and not on who came first.
 */
export class MarkBook {
  readonly #pattern: MarkPattern
  readonly #owners = new Map<number, EntryId>()
  readonly #attempts = new Map<EntryId, number>()

  constructor(pattern: MarkPattern) {
    this.#pattern = pattern
  }

  /** Undefined: the entry has none. */
  of(id: EntryId): number | undefined {
    const attempt = this.#attempts.get(id)
    return attempt === undefined ? undefined : markOf(id, attempt, this.#pattern)
  }

  /** Returns the other entries whose marks became different. */
  assign(id: EntryId): readonly EntryId[] {
    return this.#attempts.has(id) ? [] : this.#place([id]).filter((other) => other !== id)
  }

  /** Returns the other entries whose marks became different. */
  release(id: EntryId): readonly EntryId[] {
    const mark = this.of(id)
    if (mark === undefined) return []
    this.#owners.delete(mark)
    this.#attempts.delete(id)
    const displaced = [...this.#attempts].filter(([, attempt]) => attempt > 0)
    const before = new Map(displaced.map(([other]) => [other, this.of(other)]))
    for (const [other] of displaced) {
      this.#owners.delete(this.of(other) ?? 0)
      this.#attempts.delete(other)
    }
    this.#place([...before.keys()])
    return [...before].flatMap(([other, old]) => (this.of(other) === old ? [] : [other]))
  }

  /** Places entries, and those that they displace; returns all of them. */
  #place(ids: readonly EntryId[]): readonly EntryId[] {
    const moved = new Set<EntryId>()
    const waiting = ids.map((id) => ({ id, attempt: 0 }))
    for (let next = waiting.pop(); next; next = waiting.pop()) {
      const { id } = next
      let { attempt } = next
      let mark = markOf(id, attempt, this.#pattern)
      let owner = this.#owners.get(mark)
      while (owner !== undefined && owner < id) {
        mark = markOf(id, ++attempt, this.#pattern)
        owner = this.#owners.get(mark)
      }
      if (owner !== undefined) {
        waiting.push({ id: owner, attempt: (this.#attempts.get(owner) ?? 0) + 1 })
      }
      this.#owners.set(mark, id)
      this.#attempts.set(id, attempt)
      moved.add(id)
    }
    return [...moved]
  }
}
