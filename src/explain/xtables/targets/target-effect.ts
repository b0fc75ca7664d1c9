import { type Branch, branchOf, type Verdict } from '../../packet/branch.ts'
import type { Hook, PacketState } from '../../packet/packet-state.ts'
import type { OptionGroup } from '../model/rule.ts'
import type { XtablesWorld } from '../model/ruleset.ts'

export interface TargetInput {
  readonly packet: PacketState
  readonly hook: Hook
  readonly world: XtablesWorld
  readonly group: OptionGroup
}

/** The effect of a target: the packet, changed or not, and whether the chain goes on (`continue`). */
export type TargetEffect = (input: TargetInput) => readonly Branch[]

/** A single certain result. */
export function result(
  packet: PacketState,
  kind: 'accept' | 'continue' = 'continue',
): readonly Branch[] {
  return [branchOf(packet, { kind })]
}

/** An uncertain result, with what it depends on. */
export function unclear({ packet, group }: TargetInput, what: string): readonly Branch[] {
  const verdict: Verdict = { kind: 'uncertain', reason: `target ${group.name}: ${what}` }
  return [branchOf(packet, verdict)]
}

/** The first option whose effect a walk does not know, `option --NAME`; undefined if it knows all. */
export function unknownOption(group: OptionGroup, known: ReadonlySet<string>): string | undefined {
  const found = group.options.find(({ name }) => !known.has(name))
  return found === undefined ? undefined : `option ${found.name}`
}
