import type { Answer } from '../model/answer.ts'
import { hasOption, optionValue } from '../model/rule.ts'
import { allOf, type MatchInput, type MatchTest, MODIFIER } from './match-test.ts'

/** `-m statistic`: the position of the counter of `nth` is not listed, so each packet has the same probability. */
export const statistic: MatchTest = allOf({
  '--mode': ([mode]) =>
    mode === 'random' || mode === 'nth' || { unknown: `statistic mode ${mode}` },
  '--probability': ([text]) => chance(Number(text)),
  '--every': ([text]) => chance(1 / Number(text)),
  '--packet': MODIFIER,
})

/** `-m recent`. */
export const recent: MatchTest = allOf({
  '--set': () => true,
  '--rcheck': (_, input) => wasSeen(input),
  '--update': (_, input) => wasSeen(input),
  '--remove': (_, input) => wasSeen(input),
  '--seconds': MODIFIER,
  '--hitcount': MODIFIER,
  '--reap': MODIFIER,
  '--rttl': MODIFIER,
  '--name': MODIFIER,
  '--rsource': MODIFIER,
  '--rdest': MODIFIER,
  '--mask': ([mask]) =>
    /^(255\.255\.255\.255|ffff(:ffff){7})$/.test(mask ?? '') || {
      unknown: `recent with mask ${mask}`,
    },
})

function chance(probability: number): Answer {
  if (!(probability >= 0 && probability <= 1)) return { unknown: 'a probability beyond 0 to 1' }
  return probability === 1 ? true : probability === 0 ? false : { probability }
}

function wasSeen({ group, packet, world }: MatchInput): Answer {
  const list = optionValue(group, '--name') ?? 'DEFAULT'
  if (world.lastSeen === undefined)
    return { unknown: `which addresses list ${list} of recent holds` }
  const age = world.lastSeen(list, hasOption(group, '--rdest') ? packet.dst : packet.src)
  if (age === undefined) return false
  if (hasOption(group, '--hitcount') || hasOption(group, '--rttl')) {
    return { unknown: `how often list ${list} of recent has seen the address` }
  }
  const seconds = optionValue(group, '--seconds')
  return seconds === undefined || age <= Number(seconds)
}
