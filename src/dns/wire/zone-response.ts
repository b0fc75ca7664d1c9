import type { ZoneRecord } from '../zone/record.ts'
import type { ZoneAnswer } from '../zone/zone-answer.ts'
import { type EncodedRecords, encodeRecords, recordTail } from './encoded-records.ts'
import { nameOfKey, wireName } from './name.ts'
import { HEADER_LENGTH, RCODE } from './numbers.ts'
import { type EncodedAnswer, NO_RECORDS } from './response.ts'

const POINTER = 0xc000

/** The part of `ZoneAnswer` that has records. */
export type FoundAnswer = Extract<ZoneAnswer, { kind: 'found' }>

/** Encodes denials of one zone. The SOA record is encoded once for each serial number. */
export class DenialEncoder {
  readonly #zoneLength: number
  readonly #startOfAuthority: () => ZoneRecord
  #serial: number | undefined
  #tail: Buffer = Buffer.alloc(0)

  constructor(domain: string, startOfAuthority: () => ZoneRecord) {
    this.#zoneLength = wireName(domain).length
    this.#startOfAuthority = startOfAuthority
  }

  /** A denial for a question whose name is `nameLength` bytes long; `serial` is that of the zone. */
  encode(kind: 'empty' | 'missing', nameLength: number, serial: number): EncodedAnswer {
    return {
      rcode: kind === 'missing' ? RCODE.noSuchName : RCODE.noError,
      isAuthoritative: true,
      answers: NO_RECORDS,
      firstRotated: 0,
      additionals: NO_RECORDS,
      authorities: this.authority(nameLength, serial),
    }
  }

  /** The SOA record alone. Its owner is a pointer to the end of the question, which must be in the zone. */
  authority(nameLength: number, serial: number): EncodedRecords {
    if (this.#serial !== serial) {
      this.#serial = serial
      this.#tail = recordTail(this.#startOfAuthority())
    }
    const bytes = Buffer.allocUnsafe(this.#tail.length + 2)
    bytes.writeUInt16BE(POINTER | (HEADER_LENGTH + nameLength - this.#zoneLength))
    this.#tail.copy(bytes, 2)
    return { bytes, offsets: [0, bytes.length] }
  }
}

/** Encodes records for the question `queried`; `authorities` is empty unless the chain ends in a denial. */
export function encodeFound(
  { answers, additionals, denied }: FoundAnswer,
  queried: string,
  authorities: EncodedRecords = NO_RECORDS,
): EncodedAnswer {
  const firstOther = answers.findIndex(({ type }) => type !== 'CNAME')
  return {
    rcode: denied === 'missing' ? RCODE.noSuchName : RCODE.noError,
    isAuthoritative: true,
    answers: encodeRecords(answers, queried),
    firstRotated: firstOther < 0 ? answers.length : firstOther,
    authorities,
    additionals: encodeRecords(additionals, queried),
  }
}

/** Encodes aliases whose target is outside of the zone. */
export function encodeChain(chain: FoundAnswer, key: string): EncodedAnswer {
  return encodeFound(chain, nameOfKey(key))
}
