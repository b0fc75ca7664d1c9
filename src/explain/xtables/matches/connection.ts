import type { PacketState } from '../../packet/packet-state.ts'
import type { Answer } from '../model/answer.ts'
import { containsAddress, fitsProtocol } from './ip-header.ts'
import { allOf, type MatchTest, type OptionTest } from './match-test.ts'
import { inPorts } from './ports.ts'

/** `-m mark`: `0x4000/0x4000`. */
export const mark: MatchTest = allOf({
  '--mark': ([text], { packet }) => fitsMark(text, packet.mark),
})

/** `-m connmark`; an untracked packet has no connection. */
export const connectionMark: MatchTest = allOf({
  '--mark': ([text], { packet }) =>
    packet.connection.status !== 'untracked' && fitsMark(text, packet.connection.mark),
})

const state: OptionTest = ([list], { packet }) => {
  const states = statesOf(packet)
  return (list ?? '').split(',').some((name) => states.has(name))
}

/** `-m state`. */
export const connectionState: MatchTest = allOf({ '--state': state })

/** `-m conntrack`. An untracked packet has a state alone: the kernel tests nothing else of it (xt_conntrack.c). */
export const conntrack: MatchTest = (input) => {
  const { packet, group } = input
  if (packet.connection.status !== 'untracked') return ofConnection(input)
  const options = group.options.filter(({ name }) => name === '--ctstate')
  return options.length > 0 && ofConnection({ ...input, group: { ...group, options } })
}

/** The packet is the first one, or has the original direction. */
const ofConnection: MatchTest = allOf({
  '--ctstate': state,
  '--ctproto': ([name], { packet }) => fitsProtocol(name, packet.protocol),
  '--ctorigsrc': ([range], { packet }) => containsAddress(range, packet.connection.original.src.ip),
  '--ctorigdst': ([range], { packet }) => containsAddress(range, packet.connection.original.dst.ip),
  '--ctorigsrcport': ([list], { packet }) => inPorts(list, packet.connection.original.src.port),
  '--ctorigdstport': ([list], { packet }) => inPorts(list, packet.connection.original.dst.port),
  '--ctreplsrc': ([range], { packet }) => containsAddress(range, replySource(packet).ip),
  '--ctreplsrcport': ([list], { packet }) => inPorts(list, replySource(packet).port),
  '--ctrepldst': ([range], { packet }) => containsAddress(range, replyDestination(packet).ip),
  '--ctrepldstport': ([list], { packet }) => inPorts(list, replyDestination(packet).port),
  '--ctdir': ([direction]) => direction === 'ORIGINAL',
  '--ctstatus': ([list], { packet }) => status(list ?? '', packet),
})

function statesOf({ connection }: PacketState): ReadonlySet<string> {
  const { status: known, dnat, snat } = connection
  const states = new Set([known.toUpperCase()])
  if (known !== 'untracked' && dnat !== undefined) states.add('DNAT')
  if (known !== 'untracked' && snat !== undefined) states.add('SNAT')
  return states
}

/** A new connection has seen no reply and is not confirmed yet. */
function status(list: string, { connection }: PacketState): Answer {
  const isNew = connection.status === 'new'
  if (isNew && !list.split(',').includes('NONE')) return false
  return { unknown: `connection status ${list}` }
}

function replySource({ connection }: PacketState) {
  return connection.dnat ?? connection.original.dst
}

function replyDestination({ connection }: PacketState) {
  return connection.snat ?? connection.original.src
}

function fitsMark(text = '0', value: number): boolean {
  const [wanted = '0', mask = '0xffffffff'] = text.split('/')
  return (value & Number(mask)) >>> 0 === Number(wanted)
}
