import type { ObjectKey } from '../../mode.ts'
import { memberOf } from '../../netfilter/objects/object-key.ts'
import type { SetRole } from './names.ts'

/**
 * Members in the order in which they are added, so that no packet meets half of them: who may pass before all others are
 * turned away, and what leads packets to the point after all that rules look up for them.
 */
export function inOrderOfAddition(members: readonly ObjectKey[]): readonly ObjectKey[] {
  return members.toSorted((a, b) => rankOf(a) - rankOf(b))
}

/** The reverse: clients are turned away no more before those are deleted who may pass. */
export function inOrderOfRemoval(members: readonly ObjectKey[]): readonly ObjectKey[] {
  return members.toSorted((a, b) => rankOf(b) - rankOf(a))
}

/** Whether a member says who is masqueraded: it comes before the virtual server, which would send packets on without. */
export function isOfMasquerade(member: ObjectKey): boolean {
  return ['MASQUERADE', 'ONNODE'].includes(roleOf(member))
}

/** Whether a member leads to another virtual server than that of its point, or drops those whom none leads there. */
export function isOfShortCircuit(member: ObjectKey): boolean {
  return ['SHORTCUT', 'DROP'].includes(roleOf(member))
}

const RANKS: Partial<Record<SetRole, number>> = {
  ...{ ALLOWED: 0, SHORTCUT: 0 },
  ...{ RANGED: 2, DROP: 2, REJECT: 2 },
  SERVICES: 3,
}
const OTHERS = 1

function rankOf(member: ObjectKey): number {
  return RANKS[roleOf(member)] ?? OTHERS
}

function roleOf(member: ObjectKey): SetRole {
  return memberOf(member).set.replace(/^.*-/, '') as SetRole
}
