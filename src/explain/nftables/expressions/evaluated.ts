import type { HostFacts } from '../../packet/host-facts.ts'
import type { Hook, PacketState } from '../../packet/packet-state.ts'
import type { NftTable } from '../model/ruleset.ts'
import type { Part } from '../model/value.ts'

/** What an expression is evaluated for. */
export interface Evaluation {
  readonly packet: PacketState
  readonly hook: Hook
  readonly table: NftTable
  readonly facts: HostFacts
}

/** One of the values that an expression may have. */
export interface Chance {
  readonly probability: number
  readonly parts: readonly Part[]
}

/**
 * The values of an expression, whose probabilities sum to 1; none: the packet has no such field, so that the rule does
 * not apply. `unknown`: it is not understood, or not known.
 */
export type Evaluated = readonly Chance[] | { readonly unknown: string }

export function isUnknown(evaluated: Evaluated): evaluated is { readonly unknown: string } {
  return 'unknown' in evaluated
}

/** The only value of what is certain. */
export function certain(...parts: readonly Part[]): Evaluated {
  return [{ probability: 1, parts }]
}

/** The rule does not apply to packets without the field. */
export const ABSENT: Evaluated = []
