import type { EntryId, Protocol } from '../../../forwarding/entry.ts'
import { contentHash } from '../../../lib/hash.ts'
import { routingBit } from '../../netfilter/mark.ts'
import type { NetfilterSettings } from '../../netfilter/settings/settings.ts'

/** Which bits of a packet's mark are in use already. */
export type MarkSettings = Pick<NetfilterSettings, 'masqueradeBit'>

/** The value of the signature bits in every mark of ours. */
const SIGNATURE = 0xa5
const SIGNATURE_BITS = 8
const PROTOCOLS = ['TCP', 'UDP', 'SCTP'] as const

/**
 * A virtual server that is identified by a mark instead of an address: the cluster pool of a
 * Service whose external traffic stays local, for pods and processes of this node.
 * IPVS compares all 32 bits. Of them the masquerade bit and the routing bit are 0,
 * one more is 1, and eight are fixed, so that our marks can be distinguished from those
 * of others; two encode the protocol, and the rest is a hash of the entry's id.
 */
export interface MarkPattern {
  /** Bits that are the same in all marks of ours. */
  readonly mask: number
  readonly value: number
  /** The two bits that encode the protocol, the lower one first. */
  readonly protocolBits: readonly [number, number]
}

/** The pattern of all marks, around the bits that masquerading and routing use. */
export function markPattern(settings: MarkSettings): MarkPattern {
  const zero = [settings.masqueradeBit, Math.log2(routingBit(settings))]
  const one = settings.masqueradeBit < 2 ? 2 : settings.masqueradeBit - 2
  const free = Array.from({ length: 32 }, (_, bit) => bit).filter(
    (bit) => bit !== one && !zero.includes(bit),
  )
  const signature = free.slice(0, SIGNATURE_BITS)
  const set = signature.filter((_, index) => (SIGNATURE >> index) & 1)
  const [low = 0, high = 0] = free.slice(SIGNATURE_BITS)
  return {
    mask: bits([...zero, one, ...signature]),
    value: bits([one, ...set]),
    protocolBits: [low, high],
  }
}

/** Whether a mark of 32 bits (of a packet or a virtual server) is one of ours. */
export function isShortCircuitMark(mark: number, { mask, value }: MarkPattern): boolean {
  return (mark & mask) >>> 0 === value
}

/** The protocol that one of our marks encodes. */
export function protocolOf(mark: number, { protocolBits: [low, high] }: MarkPattern): Protocol {
  return PROTOCOLS[((mark >>> low) & 1) + 2 * ((mark >>> high) & 1)] ?? 'TCP'
}

/** The `attempt`-th choice (from 0) of a mark for an entry. */
export function markOf(id: EntryId, attempt: number, pattern: MarkPattern): number {
  const { mask, value, protocolBits } = pattern
  const hash = contentHash(`${id}|${attempt}`) % 2 ** 32
  const protocol = PROTOCOLS.findIndex((name) => id.split('/').at(-2) === name)
  const said = bits(protocolBits.filter((_, index) => (protocol >> index) & 1))
  return ((hash & ~mask & ~bits(protocolBits)) | value | said) >>> 0
}

function bits(positions: readonly number[]): number {
  return positions.reduce((sum, position) => sum + 2 ** position, 0)
}

/**
 * Gives each entry a mark of its own. Entries whose marks collide are served in the
 * order of their ids, so marks depend on the present entries and not on their history.
 */
export class MarkBook {
  readonly #pattern: MarkPattern
  readonly #owners = new Map<number, EntryId>()
  readonly #attempts = new Map<EntryId, number>()

  constructor(pattern: MarkPattern) {
    this.#pattern = pattern
  }

  /** The mark of an entry; undefined if it has none. */
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
