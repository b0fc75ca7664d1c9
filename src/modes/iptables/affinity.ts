import { clientsOwner, stickyTarget } from '../../forwarding/affinity.ts'
import type { Backend, ForwardingEntry } from '../../forwarding/entry.ts'
import type { SetType } from '../../kernel/ipset/sets.ts'
import { affinitySet } from './names.ts'

/** The maximum number of members of one set, regardless of its number of buckets. */
export const CLIENTS_PER_BACKEND = 262_144

/**
 * The hash buckets of all sets of a Service together. The kernel cannot enlarge a set from the packet path, so the
 * sets are created with buckets for 65,536 clients: four clients per bucket, which can hold twelve. This takes 128 to
 * 256 KiB per Service. On average six of 65,536 clients find their bucket full; of 40,000 clients none do.
 * (The `recent` match keeps 100 clients per list and forgets the rest silently.)
 */
const BUCKETS_PER_SERVICE = 16_384
const FEWEST_BUCKETS = 64

/** The set of clients that stick to `backend`, or to its Pod where entries share their clients. */
export function setOf(entry: ForwardingEntry, backend: Backend): string {
  return affinitySet(entry.family, `${clientsOwner(entry)}|${stickyTarget(entry, backend)}`)
}

/** The type with which each set of a Service is created. Timeouts are given with each added client. */
export function setType(entry: ForwardingEntry): SetType {
  const backends = Math.max(entry.pools.cluster.length, entry.pools.local.length, 1)
  const buckets = Math.max(BUCKETS_PER_SERVICE / backends, FEWEST_BUCKETS)
  return {
    type: 'hash:ip',
    family: entry.family,
    maxElements: CLIENTS_PER_BACKEND,
    hashSize: 2 ** Math.ceil(Math.log2(buckets)),
    timeout: 0,
  }
}

/**
 * Rules that send a known client to its backend and renew its timeout, and
 * give a new client a backend that remembers it. They come in this order:
 * look-ups first, so that a choice is made only for clients that are in no set.
 */
export function stickyRules(
  entry: ForwardingEntry,
  backends: readonly Backend[],
  rules: { chance(index: number): string; dnat(backend: Backend): string },
): readonly string[] {
  const remember = (set: string) =>
    `-j SET --add-set ${set} src --exist --timeout ${entry.affinity?.seconds ?? 0}`
  const protocol = `-p ${entry.protocol.toLowerCase()} `
  const known = (set: string) => `-m set --match-set ${set} src `
  const send = (backend: Backend) =>
    `${protocol}${known(setOf(entry, backend))}${rules.dnat(backend)}`
  return [
    ...backends.flatMap((backend) => {
      const set = setOf(entry, backend)
      return [`${known(set)}${remember(set)}`, send(backend)]
    }),
    ...backends.flatMap((backend, index) => [
      `${rules.chance(index)}${remember(setOf(entry, backend))}`,
      send(backend),
    ]),
  ]
}
