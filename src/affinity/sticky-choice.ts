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
 * so that of several connections of a new client the first one decides for all; who fails with
 * it remembers another one (`rememberChoice`).
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
  if (token === undefined) return find(table.claim(visit, chosen.token, seconds)) ?? chosen
  table.remember(group, client, chosen.token, now)
  return chosen
}

/** The client goes to this backend from now on. */
export function rememberChoice(table: AffinityTable, visit: Visit, token: number): void {
  const { group, client, seconds, now } = visit
  if (seconds !== undefined) table.remember(group, client, token, now)
}
