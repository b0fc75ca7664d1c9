import { type Answer, encode } from 'dns-packet'
import type { ForwardedAnswer, Forwarder } from '../forward/forwarder.ts'
import { type EncodedRecords, encodeRecords } from '../wire/encoded-records.ts'
import { nameOfKey } from '../wire/name.ts'
import { CLASS, FLAG, HEADER_LENGTH, RCODE, TYPE } from '../wire/numbers.ts'
import { type Query, type QueryFault, readQuery } from '../wire/query.ts'
import {
  bareAnswer,
  type EncodedAnswer,
  encodeChain,
  encodeResponse,
  faultResponse,
  NO_RECORDS,
} from '../wire/response.ts'
import type { ZoneRecord } from '../zone/record.ts'
import type { Authority, Elsewhere } from './authority.ts'
import { countRefusal, type NameDomain, type RefusalReason, type Statistics } from './statistics.ts'

export interface ResponderOptions {
  readonly authority: Authority
  /** Absent: names outside of the zone are refused. */
  readonly forwarder?: Pick<Forwarder, 'query'> | undefined
  readonly statistics: Statistics
  /** Whether all names are known. */
  readonly isReady: () => boolean
  /** Milliseconds of a clock that never goes back; that of the process unless set. */
  readonly now?: () => number
}

/** How long a response to this query may be, in bytes. */
export type LimitOf = (query: Query) => number

type Response = Buffer | undefined

const REFUSED = bareAnswer(RCODE.refused)
const BAD_VERSION = bareAnswer(RCODE.badVersion)
const SERVER_FAILURE = bareAnswer(RCODE.serverFailure)

/**
 * Answers messages of clients, whatever the transport. A name of the zone is answered at once. For any other
 * name, upstreams are queried if there are any and the client wants recursion.
 */
export class Responder {
  readonly #authority: Authority
  readonly #forwarder: Pick<Forwarder, 'query'> | undefined
  readonly #statistics: Statistics
  readonly #isReady: () => boolean
  readonly #now: () => number
  #turn = 0

  constructor({ authority, forwarder, statistics, isReady, now }: ResponderOptions) {
    this.#isReady = isReady
    this.#now = now ?? (() => performance.now())
    this.#authority = authority
    this.#forwarder = forwarder
    this.#statistics = statistics
  }

  /**
   * The response to a message; undefined: none must be sent. The message may be overwritten as soon as this
   * returns. A promise rejects only for a bug.
   */
  respond(message: Buffer, limitOf: LimitOf): Response | Promise<Response> {
    const began = this.#now()
    const query = readQuery(message)
    if ('reason' in query) return this.#refuseFault(message, query)
    if (!this.#isReady()) return this.#fail(query, limitOf, 'not-ready')
    const refusal = this.#refusalOf(query)
    if (refusal !== undefined) return this.#refuse(query, limitOf, refusal)
    const answer = this.#authority.answer(query)
    if ('target' in answer) {
      const forwarded = this.#elsewhere(query, limitOf, answer)
      return forwarded instanceof Promise ? this.#timeForwarded(forwarded, began) : forwarded
    }
    const response = this.#send(query, answer, limitOf)
    this.#time('cluster', began)
    return response
  }

  async #timeForwarded(forwarded: Promise<Response>, began: number): Promise<Response> {
    const response = await forwarded
    this.#time('other', began)
    return response
  }

  #time(domain: NameDomain, began: number): void {
    this.#statistics.durations[domain].observe((this.#now() - began) / 1_000)
  }

  #refusalOf({ options, klass, type }: Query): RefusalReason | undefined {
    if (options !== undefined && options.version !== 0) return 'version'
    if (klass !== CLASS.internet && klass !== CLASS.any) return 'class'
    const isTransfer = type === TYPE.transfer || type === TYPE.incrementalTransfer
    return isTransfer ? 'transfer' : undefined
  }

  #refuse(query: Query, limitOf: LimitOf, reason: RefusalReason): Buffer {
    countRefusal(this.#statistics, reason)
    return this.#send(query, reason === 'version' ? BAD_VERSION : REFUSED, limitOf)
  }

  #fail(query: Query, limitOf: LimitOf, reason: RefusalReason): Buffer {
    countRefusal(this.#statistics, reason)
    return this.#send(query, SERVER_FAILURE, limitOf)
  }

  #refuseFault(message: Buffer, { reason, rcode }: QueryFault): Response {
    countRefusal(this.#statistics, reason)
    if (rcode === undefined) return undefined
    this.#count(rcode)
    return faultResponse(message, rcode)
  }

  #elsewhere(query: Query, limitOf: LimitOf, found: Elsewhere): Buffer | Promise<Response> {
    if (this.#forwarder === undefined || !query.recursionDesired) {
      if (found.chain === undefined) return this.#refuse(query, limitOf, 'no-upstream')
      return this.#send(query, encodeChain(found.chain, query.key), limitOf)
    }
    return this.#forward(this.#forwarder, query, limitOf, found)
  }

  async #forward(
    forwarder: Pick<Forwarder, 'query'>,
    read: Query,
    limitOf: LimitOf,
    { chain, target }: Elsewhere,
  ): Promise<Response> {
    // The memory of the message belongs to the transport, which reads the next message into it.
    const query = { ...read, message: Buffer.from(read.message) }
    const { type, klass, checkingDisabled, options } = query
    const dnssecOk = options?.dnssecOk ?? false
    const question = { name: target, type, klass, dnssecOk, checkingDisabled }
    const found = await forwarder.query(question)
    if (found.fault !== undefined) return this.#send(query, SERVER_FAILURE, limitOf)
    const answer = encodeForwarded(found, query, chain?.answers ?? [])
    const response = this.#send(query, answer, limitOf)
    if (found.isAuthentic && chain === undefined) setAuthentic(response)
    return response
  }

  #send(query: Query, answer: EncodedAnswer, limitOf: LimitOf): Buffer {
    this.#turn = (this.#turn + 1) >>> 0
    const response = encodeResponse(query, answer, {
      limit: limitOf(query),
      recursionAvailable: this.#forwarder !== undefined,
      turn: this.#turn,
    })
    if ((response[2]! & (FLAG.truncated >> 8)) !== 0) this.#statistics.truncated += 1
    this.#count(answer.rcode)
    return response
  }

  #count(rcode: number): void {
    this.#statistics.responses[rcode]! += 1
  }
}

function setAuthentic(response: Buffer): void {
  response[3]! |= FLAG.authenticData
}

/** An answer of another server. */
type ForwardedRecords = Pick<
  Exclude<ForwardedAnswer, { readonly fault: string }>,
  'rcode' | 'answers' | 'authorities'
>

/** Encodes the answer of another server for a client, after the aliases of the zone that led there. */
function encodeForwarded(
  { rcode, answers, authorities }: ForwardedRecords,
  query: Query,
  chain: readonly ZoneRecord[],
): EncodedAnswer {
  const own = encodeRecords(chain, nameOfKey(query.key))
  const first = answers.findIndex(({ type }) => type !== 'CNAME')
  const aliases = first < 0 ? answers.length : first
  return {
    rcode,
    isAuthoritative: false,
    additionals: NO_RECORDS,
    answers: joined(own, encodeForeign(answers)),
    firstRotated: chain.length + aliases,
    authorities: encodeForeign(authorities),
  }
}

function encodeForeign(records: readonly Answer[]): EncodedRecords {
  const offsets = [0]
  const encoded = records.map((record) => encode({ answers: [record] }).subarray(HEADER_LENGTH))
  for (const { length } of encoded) offsets.push(offsets.at(-1)! + length)
  return { bytes: Buffer.concat(encoded), offsets }
}

function joined(first: EncodedRecords, second: EncodedRecords): EncodedRecords {
  const start = first.bytes.length
  return {
    bytes: Buffer.concat([first.bytes, second.bytes]),
    offsets: [...first.offsets, ...second.offsets.slice(1).map((offset) => start + offset)],
  }
}
