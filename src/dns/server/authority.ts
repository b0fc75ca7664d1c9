import type { EndpointSource, Service } from '../../resources/types.ts'
import { encodeRecords } from '../wire/encoded-records.ts'
import { nameOfKey } from '../wire/name.ts'
import { HEADER_LENGTH, QUESTION_TAIL, typeName } from '../wire/numbers.ts'
import type { Query } from '../wire/query.ts'
import { DenialEncoder, type EncodedAnswer, encodeFound, isSameForAll } from '../wire/response.ts'
import type { ZoneView } from '../zone/record.ts'
import type { Zone } from '../zone/zone.ts'
import type { ZoneAnswer } from '../zone/zone-answer.ts'

/** Encoded answers that are kept for one type. A full table is emptied, so its memory is bounded. */
const MAX_NAMES = 65_536

/** The answer, or the end of its alias chain, is outside of the zone. */
export interface Elsewhere {
  /** The aliases of the zone that lead to `target`; undefined when the queried name itself is foreign. */
  readonly chain: Extract<ZoneAnswer, { kind: 'found' }> | undefined
  /** The name to query another server for: lower case, without the final dot. */
  readonly target: string
}

/** An encoded answer, and the objects that it was made from; it is valid while the view holds the same objects. */
interface Encoded {
  readonly answer: EncodedAnswer
  readonly service: Service | undefined
  readonly sources: readonly EndpointSource[]
  /** The serial number of the zone when the objects were last compared. */
  serial: number
}

/**
 * Answers questions about a zone in wire format. Answers that depend on a single Service are encoded once, and
 * again when the view holds another object for the Service or its endpoints.
 */
export class Authority {
  readonly #zone: Zone
  readonly #view: ZoneView
  readonly #denials: DenialEncoder
  /** By type and name; few types have records. */
  readonly #encoded = new Map<number, Map<string, Encoded>>()

  constructor(zone: Zone, view: ZoneView) {
    this.#zone = zone
    this.#view = view
    this.#denials = new DenialEncoder(zone.domain, () => zone.startOfAuthority())
  }

  /** The answer to a question of class IN, or the name that another server must be queried for. */
  answer({ key, type }: Query): EncodedAnswer | Elsewhere {
    const known = this.#encoded.get(type)?.get(key)
    if (known !== undefined && this.#holds(known)) return known.answer
    return this.#compute(key, type)
  }

  /**
   * Whether an encoded answer is still valid. While the serial number is the same, no object changed and none
   * is compared.
   */
  #holds(encoded: Encoded): boolean {
    const { serial } = this.#zone
    if (encoded.serial === serial) return true
    const { service, sources } = encoded
    if (service === undefined || this.#view.service(service.key) !== service) return false
    if (this.#view.endpointSourcesOf(service.key) !== sources) return false
    encoded.serial = serial
    return true
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
    const encoded = encodeFound(found, name, denial)
    if (found.service === undefined) return encoded
    const questionEnd = HEADER_LENGTH + key.length + QUESTION_TAIL
    const answer = isSameForAll(encoded, questionEnd) ? { ...encoded, wholes: [] } : encoded
    this.#remember(key, type, {
      answer,
      service: this.#view.service(found.service),
      sources: this.#view.endpointSourcesOf(found.service),
      serial: this.#zone.serial,
    })
    return answer
  }

  /**
   * The SOA record of a denial for a reverse name has its owner name in full, because the question is outside
   * of the domain.
   */
  #denial(kind: 'empty' | 'missing', name: string, key: string): EncodedAnswer {
    const answer = this.#denials.encode(kind, key.length, this.#zone.serial)
    if (name === this.#zone.domain || name.endsWith(`.${this.#zone.domain}`)) return answer
    return { ...answer, authorities: encodeRecords([this.#zone.startOfAuthority()], name) }
  }

  #remember(key: string, type: number, encoded: Encoded): void {
    const ofType = this.#encoded.getOrInsertComputed(type, () => new Map())
    if (ofType.size >= MAX_NAMES) ofType.clear()
    ofType.set(key, encoded)
  }
}
