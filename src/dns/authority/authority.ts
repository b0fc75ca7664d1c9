import type { EndpointSource, Service } from '../../resources/types.ts'
import { encodeRecords } from '../wire/encoded-records.ts'
import { nameOfKey } from '../wire/name.ts'
import { typeName } from '../wire/numbers.ts'
import type { Query } from '../wire/query.ts'
import type { EncodedAnswer } from '../wire/response.ts'
import { DenialEncoder, encodeFound } from '../wire/zone-response.ts'
import type { Zone } from '../zone/zone.ts'
import type { ZoneAnswer } from '../zone/zone-answer.ts'
import type { ZoneView } from '../zone/zone-view.ts'

/** Names with an encoded answer; a full table is emptied, so it costs a bounded memory. */
const MAX_NAMES = 65_536

/** Another server knows the answer, or its end. */
export interface Elsewhere {
  /** The records that the zone has: aliases that lead to `target`; none when the name itself is foreign. */
  readonly chain: Extract<ZoneAnswer, { kind: 'found' }> | undefined
  /** The name to query another server for: lower case, without the final dot. */
  readonly target: string
}

/** An encoded answer, and the objects that it was made from: it holds as long as they are the same. */
interface Encoded {
  readonly answer: EncodedAnswer
  readonly service: Service | undefined
  readonly sources: readonly EndpointSource[]
}

/**
 * Answers questions about a zone in wire format. Answers that follow from a single Service are encoded once,
 * and again when the Service or its endpoints are other objects in the view.
 */
export class Authority {
  readonly #zone: Zone
  readonly #view: ZoneView
  readonly #denials: DenialEncoder
  readonly #encoded = new Map<string, Map<number, Encoded>>()

  constructor(zone: Zone, view: ZoneView) {
    this.#zone = zone
    this.#view = view
    this.#denials = new DenialEncoder(zone.domain, () => zone.startOfAuthority())
  }

  /** The answer to a question of class IN, or who else has it. */
  answer({ key, type }: Query): EncodedAnswer | Elsewhere {
    const known = this.#encoded.get(key)?.get(type)
    if (known !== undefined && this.#holds(known)) return known.answer
    return this.#compute(key, type)
  }

  #holds({ service, sources }: Encoded): boolean {
    if (service === undefined) return false
    const { key } = service
    return this.#view.service(key) === service && this.#view.endpointSourcesOf(key) === sources
  }

  #compute(key: string, type: number): EncodedAnswer | Elsewhere {
    const name = nameOfKey(key)
    const found = this.#zone.answer(name, typeName(type))
    if (found.kind === 'foreign') return { chain: undefined, target: name }
    if (found.kind !== 'found') return this.#denial(found.kind, name, key)
    if (found.target !== undefined) return { chain: found, target: found.target }
    const denial =
      found.denied === undefined
        ? undefined
        : this.#denials.authority(key.length, this.#zone.serial)
    const answer = encodeFound(found, name, denial)
    if (found.service !== undefined) {
      this.#remember(key, type, {
        answer,
        service: this.#view.service(found.service),
        sources: this.#view.endpointSourcesOf(found.service),
      })
    }
    return answer
  }

  /** A reverse name is outside of the domain, so the start of authority has its whole name there. */
  #denial(kind: 'empty' | 'missing', name: string, key: string): EncodedAnswer {
    const answer = this.#denials.encode(kind, key.length, this.#zone.serial)
    if (name === this.#zone.domain || name.endsWith(`.${this.#zone.domain}`)) return answer
    return { ...answer, authorities: encodeRecords([this.#zone.startOfAuthority()], name) }
  }

  #remember(key: string, type: number, encoded: Encoded): void {
    if (this.#encoded.size >= MAX_NAMES) this.#encoded.clear()
    this.#encoded.getOrInsertComputed(key, () => new Map()).set(type, encoded)
  }
}
