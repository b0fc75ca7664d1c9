import type { WalkOutcome } from '../../../../src/explain/walk/walk-outcome.ts'
import type { Backend } from '../../../../src/forwarding/entry.ts'
import type { Addresses, Packet } from './some-service.ts'

/** The ends of packets that reach no backend. */
export const UNSERVED: readonly string[] = ['rejected', 'dropped', 'passed']

/** Follows the backend of a packet whose source address is replaced. */
export const MASQUERADED = ' masqueraded'

/** How a walk of `explain` ends: at `10.180.0.1:8080`, perhaps followed by `MASQUERADED`, or unserved. */
export function endOf(outcome: WalkOutcome, { from, to }: Packet): string {
  switch (outcome.kind) {
    case 'refused':
      return 'rejected'
    case 'silent':
      return 'dropped'
    case 'uncertain':
      throw new Error(outcome.reason)
    case 'delivered': {
      const { dst, src } = outcome
      if (dst.ip === to) return 'passed'
      return `${dst.ip}:${dst.port}${src === from ? '' : MASQUERADED}`
    }
  }
}

/** Where a packet may end before a change, and after it. */
export interface StillEnds {
  readonly before: readonly string[]
  readonly after: readonly string[]
}

/**
 * Whether a packet that is processed during a change may end this way. It may end as before or as after the change. If
 * it is not served before or after, it may also be dropped, since its sender repeats it. It may be refused if it is not
 * served after the change, or was refused or dropped before. A connection to a new Service must not be refused.
 */
export function asBeforeOrAfter({ before, after }: StillEnds): (end: string) => boolean {
  const isUnserved = (ends: readonly string[]) => ends.some((end) => UNSERVED.includes(end))
  const isAnswered = before.some((end) => end === 'rejected' || end === 'dropped')
  const expected = new Set([
    ...before,
    ...after,
    ...(isUnserved(before) || isUnserved(after) ? ['dropped'] : []),
    ...(isAnswered || isUnserved(after) ? ['rejected'] : []),
  ])
  return (end) => expected.has(end)
}

/** A packet, and what decides about it before and after a change. */
export interface MixedChange {
  /** The backends before and after the change. */
  readonly backends: readonly Backend[]
  readonly at: Addresses
  readonly packet: Packet
  /** Where the packet may end before the change, and where after it. */
  readonly ends: readonly string[]
}

/**
 * Whether a packet whose path reads the state more than once may end this way: it may combine the verdict of one state
 * with the choice of the other, and end at any backend of both whose replies return to this node. Replies of Pods here
 * do, and replies of others if the source is a Pod here, the node, or masqueraded. A source that neither state
 * masquerades keeps its address, unless it is the backend itself.
 */
export function isMixture({ backends, at, packet, ends }: MixedChange): (end: string) => boolean {
  const isEverMasqueraded = ends.some((end) => end.endsWith(MASQUERADED))
  const isInside = packet.from === at.pod || packet.from === at.node
  return (end) => {
    const target = end.replace(MASQUERADED, '')
    const reached = backends.filter((one) => `${one.ip}:${one.port}` === target)
    if (reached.length === 0) return false
    if (end.endsWith(MASQUERADED)) {
      return isEverMasqueraded || reached.some((one) => one.ip === packet.from)
    }
    return isInside || reached.every(({ local }) => local)
  }
}
