import { contentHash } from '../lib/hash.ts'
import type { AffinityTable } from './affinity-table.ts'

/** A client's connection to a forwarding entry. */
export interface Visit {
  /** `contentHash` of the name under which the entry's clients are remembered (`clientsOwner`). */
  readonly group: number
  /** The client's address, 4 or 16 bytes. */
  readonly client: Uint8Array
  /** The entry's current timeout; undefined if the entry has no affinity. */
  readonly seconds: number | undefined
  /** Milliseconds, as `AffinityTable` has them. */
  readonly now: number
}

/** A backend with the token that affinity stores for it, see `tokenOf`. */
export interface Sticky {
  readonly token: number
}

/** Finds or selects a backend of the entry for a client. */
export interface Balancer<Backend> {
  /** The backend with this token, if the client may have it now. */
  readonly find: (token: number) => Backend | undefined
  /** Selects a backend regardless of affinity; undefined if there is none. */
  readonly choose: () => Backend | undefined
}

/**
 * The backend to try: the one of the client's last connection, if the timeout has not expired and
 * `find` still offers it; otherwise a newly selected one. The choice is stored at once, so that the
 * first of several concurrent connections decides for all. After a failed connection attempt the
 * caller calls again, with a `find` that no longer offers that backend.
 */
export function stickyChoice<Backend extends Sticky>(
  table: AffinityTable,
  visit: Visit,
  { find, choose }: Balancer<Backend>,
): Backend | undefined {
  const { group, client, seconds, now } = visit
  if (seconds === undefined) return choose()
  const token = table.find(group, client, { now, seconds })
  const known = token === undefined ? undefined : find(token)
  const chosen = known ?? choose()
  if (chosen === undefined) return undefined
  const winner = table.claim({ group, client, now, seconds, instead: token }, chosen.token)
  return winner === chosen.token ? chosen : (find(winner) ?? chosen)
}

/**
 * The number of 31 bits by which affinity remembers a backend. It is computed from `stickyTarget`, so it is the same in
 * every thread and after every change of the Service. Of 4,000 Services with 1,000 backends each, about one has two
 * backends with the same token; their clients then stick to one of the two.
 */
export function tokenOf(target: string): number {
  return contentHash(target) % 2 ** 31
}
