import type { PacketState } from '../../packet/packet-state.ts'
import { type Answer, both, negate } from '../model/answer.ts'
import type { Option, OptionGroup } from '../model/rule.ts'
import type { XtablesWorld } from '../model/ruleset.ts'

export interface MatchInput {
  readonly packet: PacketState
  readonly world: XtablesWorld
  readonly group: OptionGroup
}

/** Whether a match with its options applies. */
export type MatchTest = (input: MatchInput) => Answer

/** Whether one option applies, ignoring negation. */
export type OptionTest = (values: readonly string[], input: MatchInput) => Answer

/** A match whose options all must apply; an option without a test makes the answer unknown. */
export function allOf(tests: Readonly<Record<string, OptionTest>>): MatchTest {
  const known = new Map(Object.entries(tests))
  return (input) => {
    let answer: Answer = true
    for (const option of input.group.options) {
      answer = both(answer, testOption(known.get(option.name), option, input))
    }
    return answer
  }
}

/** An option that only changes the meaning of others, negated or not. */
export const MODIFIER: OptionTest = () => true

function testOption(test: OptionTest | undefined, option: Option, input: MatchInput): Answer {
  if (test === undefined) return { unknown: `option ${option.name} of match ${input.group.name}` }
  if (test === MODIFIER) return true
  const answer = test(option.values, input)
  return option.isNegated ? negate(answer) : answer
}
