import { expect, test } from 'vitest'
import { isShortCircuitMark, markPattern } from '../ipvs/objects/short-circuit-mark.ts'
import { isOwn, isTaken, ownMark, routingBit, setTaken } from './mark.ts'

const EVERY_BIT = Array.from({ length: 32 }, (_, masqueradeBit) => ({ masqueradeBit }))

test('the mark of our own connections is one bit that no other mark of ours has', () => {
  for (const settings of EVERY_BIT) {
    const mark = ownMark(settings)
    expect(Math.log2(mark) % 1).toBe(0)
    expect([1 << settings.masqueradeBit, routingBit(settings)]).not.toContain(mark)
    const { mask, value } = markPattern(settings)
    expect(mask & mark).toBe(mark)
    expect(value & mark).toBe(0)
    expect(isShortCircuitMark(mark, { mask, value, protocolBits: [0, 1] })).toBe(false)
  }
})

test('conntrack knows what was taken by the routing bit, in the direction of the client', () => {
  const settings = { masqueradeBit: 14 }
  expect(isOwn(settings)).toBe('-m mark --mark 0x40/0x40 ')
  expect(setTaken(settings)).toBe('-j CONNMARK --set-xmark 0x2000/0x2000')
  expect(isTaken(settings)).toContain('--ctdir ORIGINAL -m connmark --mark 0x2000/0x2000 ')
})
