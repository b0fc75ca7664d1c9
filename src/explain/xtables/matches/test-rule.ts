import type { PacketState } from '../../packet/packet-state.ts'
import { type Answer, both } from '../model/answer.ts'
import { hasOption, optionValue, type Rule } from '../model/rule.ts'
import type { XtablesWorld } from '../model/ruleset.ts'
import { bpf } from './bpf.ts'
import { connectionMark, connectionState, conntrack, mark } from './connection.ts'
import { addressType, bridgePort, ipvs, packetType, reversePath, socket } from './host.ts'
import { addressRange, ipHeader } from './ip-header.ts'
import { ipSets } from './ip-sets.ts'
import { allOf, type MatchInput, type MatchTest, MODIFIER } from './match-test.ts'
import { multiport, tcp, udp } from './ports.ts'

/** `-m statistic`: the position of the counter of `nth` is not listed, so each packet has the same probability. */
const statistic: MatchTest = allOf({
  '--mode': ([mode]) =>
    mode === 'random' || mode === 'nth' || { unknown: `statistic mode ${mode}` },
  '--probability': ([text]) => chance(Number(text)),
  '--every': ([text]) => chance(1 / Number(text)),
  '--packet': MODIFIER,
})

/** `-m recent`. */
const recent: MatchTest = allOf({
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

const MATCHES: ReadonlyMap<string, MatchTest> = new Map([
  ['ip', ipHeader],
  ['tcp', tcp],
  ['udp', udp],
  ['sctp', udp],
  ['multiport', multiport],
  ['iprange', addressRange],
  ['mark', mark],
  ['connmark', connectionMark],
  ['state', connectionState],
  ['conntrack', conntrack],
  ['statistic', statistic],
  ['recent', recent],
  ['set', ipSets],
  ['addrtype', addressType],
  ['ipvs', ipvs],
  ['physdev', bridgePort],
  ['socket', socket],
  ['rpfilter', reversePath],
  ['pkttype', packetType],
  ['bpf', bpf],
  ['comment', () => true],
  ['nfacct', () => true],
])

/**
 * Whether a rule applies to a packet, that is, all of its matches do. An unknown match makes the answer `unknown`; it
 * is never ignored.
 */
export function testRule(rule: Rule, packet: PacketState, world: XtablesWorld): Answer {
  let answer: Answer = true
  for (const group of rule.matches) {
    const test = MATCHES.get(group.name)
    const one = test?.({ packet, world, group }) ?? { unknown: `match ${group.name}` }
    answer = both(answer, one)
    if (answer === false) return false
  }
  return answer
}
