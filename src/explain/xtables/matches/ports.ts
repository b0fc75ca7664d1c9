import type { Answer } from '../model/answer.ts'
import { allOf, type MatchTest, type OptionTest } from './match-test.ts'

/** The range of possible ephemeral ports of a client on another machine; most likely they are 32768 or higher. */
const EPHEMERAL = { first: 1024, last: 65_535 }
const LIKELY = { first: 32_768, last: 60_999 }

const source: OptionTest = ([list], { packet }) => inPorts(list, packet.srcPort)
const destination: OptionTest = ([list], { packet }) => inPorts(list, packet.dstPort)

/** `-m tcp`: the first packet has only the SYN flag. */
export const tcp: MatchTest = allOf({
  '--sport': source,
  '--dport': destination,
  '--tcp-flags': ([mask = '', set = '']) => {
    const looksAtSyn = mask === 'ALL' || mask.split(',').includes('SYN')
    const wanted = set === 'NONE' ? '' : set
    return (looksAtSyn ? 'SYN' : '') === wanted
  },
})

/** `-m udp`, `-m sctp`. */
export const udp: MatchTest = allOf({ '--sport': source, '--dport': destination })

/** `-m multiport`: lists of ports and ranges. */
export const multiport: MatchTest = allOf({
  '--sports': source,
  '--dports': destination,
  '--ports': ([list], { packet }) => {
    const one = inPorts(list, packet.dstPort)
    return one === true ? true : inPorts(list, packet.srcPort)
  },
})

/** `80`, `80:90` or `80,443,8000:8100`; if the port is unknown, the answer may be unknown. */
export function inPorts(list: string | undefined, port: number | undefined): Answer {
  const ranges = (list ?? '').split(',').map((part) => {
    const [first = '0', last = first] = part.split(':')
    return { first: Number(first === '' ? '0' : first), last: Number(last === '' ? '65535' : last) }
  })
  if (port !== undefined) return ranges.some(({ first, last }) => port >= first && port <= last)
  if (ranges.some((one) => one.first <= LIKELY.first && one.last >= LIKELY.last)) return true
  const isPossible = ranges.some(
    (one) => one.last >= EPHEMERAL.first && one.first <= EPHEMERAL.last,
  )
  return isPossible ? { unknown: `whether the source port is in ${list}` } : false
}
