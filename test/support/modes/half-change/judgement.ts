import type { WalkOutcome } from '../../../../src/explain/walk/walk-outcome.ts'
import type { Backend } from '../../../../src/forwarding/entry.ts'
import type { Addresses, Packet } from './some-service.ts'

/** How a packet ends that reaches no backend. */
export const UNSERVED: readonly string[] = ['rejected', 'dropped', 'passed']

/** Behind the backend of a packet whose source is replaced. */
export const MASQUERADED = ' masqueraded'

/** How a walk of `explain` ends: at `10.180.0.1:8080`, with `MASQUERADED` behind it, or unserved. */
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
 * Whether a packet that is at work during a change may end so: as before or as after it. Where one of both does not serve it
 * it may be dropped, since its sender repeats it; and refused where it is not served any more, or was not and was
 * answered. Who connects to a Service that is new meets no refusal.
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

/** A packet, and what it has to do with both sides of a change. */
export interface MixedChange {
  /** Of before and of after. */
  readonly backends: readonly Backend[]
  readonly at: Addresses
  readonly packet: Packet
  /** Where it may end before the change and after it. */
  readonly ends: readonly string[]
}

/**
 * Whether it may end so where it decides in more than one reading: by the verdict of before and the choice of after, at a
 * backend of one of both whose replies come back to this node. Those of Pods here do, and those of others where the source is
 * a Pod here, the node, or masqueraded. A source that neither of both masquerades keeps its address, unless it is the backend.
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
