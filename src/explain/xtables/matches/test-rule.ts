import type { PacketState } from '../../packet/packet-state.ts'
import { type Answer, both } from '../model/answer.ts'
import type { Rule } from '../model/rule.ts'
import type { XtablesWorld } from '../model/ruleset.ts'
import { bpf } from './bpf.ts'
import { recent, statistic } from './chance.ts'
import { connectionMark, connectionState, conntrack, mark } from './connection.ts'
import { addressType, bridgePort, ipvs, packetType, reversePath, socket } from './host.ts'
import { addressRange, ipHeader } from './ip-header.ts'
import { ipSets } from './ip-sets.ts'
import type { MatchTest } from './match-test.ts'
import { multiport, tcp, udp } from './ports.ts'

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
