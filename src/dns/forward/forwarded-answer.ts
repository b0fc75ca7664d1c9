import type { Answer } from 'dns-packet'

/** Why a question has no answer; the client receives SERVFAIL. */
export type ForwardFault =
  /** No upstream answered in time, or none with NOERROR or NXDOMAIN. */
  | 'unanswered'
  /** More questions are in flight than allowed. */
  | 'overloaded'
  /** The name is malformed, or the type or class concerns one connection alone (OPT, TSIG, transfers). */
  | 'unsupported'
  /** The forwarder is closed. */
  | 'closed'

/** Where an answer comes from; `stale`: its TTL has passed, and no upstream answers (RFC 8767). */
export type AnswerSource = 'upstream' | 'cache' | 'stale'

/** The answer to a forwarded question, or why there is none. Records are shared and must not be changed. */
export type ForwardedAnswer =
  | { readonly fault: ForwardFault }
  | {
      readonly fault?: undefined
      readonly source: AnswerSource
      /** 0 (NOERROR) or 3 (NXDOMAIN). */
      readonly rcode: number
      /** The AD bit of the upstream. AA is to be cleared, RA to be set. */
      readonly isAuthentic: boolean
      /** The records of the name and of its chain of CNAME records, with their remaining TTLs. */
      readonly answers: readonly Answer[]
      /** Only SOA, NS and DNSSEC records. */
      readonly authorities: readonly Answer[]
    }
