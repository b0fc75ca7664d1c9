import { allOf, type MatchTest } from './match-test.ts'

/** `-m mark`: `0x4000/0x4000`. */
export const mark: MatchTest = allOf({
  '--mark': ([text], { packet }) => fitsMark(text, packet.mark),
})

/** `-m connmark`; an untracked packet has no connection. */
export const connectionMark: MatchTest = allOf({
  '--mark': ([text], { packet }) =>
    packet.connection.status !== 'untracked' && fitsMark(text, packet.connection.mark),
})

function fitsMark(text = '0', value: number): boolean {
  const [wanted = '0', mask = '0xffffffff'] = text.split('/')
  return (value & Number(mask)) >>> 0 === Number(wanted)
}
