import type { AffinityTable } from './affinity-table.ts'

/** A client that connects to an entry. */
export interface Visit {
  /** `contentHash` of the entry's id. */
  readonly group: number
  /** Its address, 4 or 16 bytes. */
  readonly client: Uint8Array
  /** The time-out as it is now; undefined: the entry has no affinity. */
  readonly seconds: number | undefined
  /** Milliseconds since the epoch. */
  readonly now: number
}

/** A backend as affinity remembers it: `tokenOf`. */
export interface Sticky {
  readonly token: number
}

export interface Balancer<Backend> {
  /** The backend with this token, if the client may have it now. */
  readonly find: (token: number) => Backend | undefined
  /** Balances anew. */
  readonly choose: () => Backend | undefined
}

/**
 * The backend to try: the one that the client was connected to last, if that is less than the
 * time-out ago and it may have it; otherwise one that is balanced anew. It is remembered at once,
 * so that of several connections at once of a client that is new, or whose backend left or
 * failed, the first one decides for all. Who fails with it asks again, and finds it no more.
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
