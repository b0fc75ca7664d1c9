import type { Answer } from 'dns-packet'
import type { UpstreamAnswer } from '../message/read-reply.ts'

/** Upper limits of TTLs, in seconds. */
export interface TtlLimits {
  readonly maxTtl: number
  /** Of NXDOMAIN and NODATA. */
  readonly maxNegativeTtl: number
}

/** A TTL with its first bit set counts as 0 (RFC 2181 §8). */
const TTL_LIMIT = 2 ** 31

/** Lowers the TTLs of an answer to the limits, of a negative one also to its negative TTL. */
export function limitTtls(answer: UpstreamAnswer, limits: TtlLimits): UpstreamAnswer {
  const { negativeTtl } = answer
  const limit =
    negativeTtl === undefined
      ? limits.maxTtl
      : Math.min(limits.maxTtl, limits.maxNegativeTtl, valid(negativeTtl))
  const lower = (ttl: number): number => Math.min(limit, valid(ttl))
  return {
    ...answer,
    answers: mapTtls(answer.answers, lower),
    authorities: mapTtls(answer.authorities, lower),
    negativeTtl: negativeTtl === undefined ? undefined : limit,
  }
}

/** Seconds for which the answer holds: the least of its TTLs. */
export function lifetimeOf({ answers, authorities, negativeTtl }: UpstreamAnswer): number {
  const ttls = [...answers, ...authorities].map(ttlOf)
  return Math.min(...ttls, negativeTtl ?? Number.POSITIVE_INFINITY)
}

/** The records with other TTLs. */
export function mapTtls(
  records: readonly Answer[],
  change: (ttl: number) => number,
): readonly Answer[] {
  return records.map((record) =>
    record.type === 'OPT' ? record : { ...record, ttl: change(ttlOf(record)) },
  )
}

function ttlOf(record: Answer): number {
  return record.type === 'OPT' ? 0 : (record.ttl ?? 0)
}

function valid(ttl: number): number {
  return ttl < TTL_LIMIT ? ttl : 0
}
