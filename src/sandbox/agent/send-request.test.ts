import { expect, test } from 'vitest'
import { counterIn, readSynCounters, repeatsBetween } from './send-request.ts'

test('finds a counter by protocol and name', () => {
  const text = 'TcpExt: A TCPSynRetrans B\nTcpExt: 1 42 3\nIpExt: TCPSynRetrans\nIpExt: 7\n'
  expect(counterIn(text, 'TcpExt', 'TCPSynRetrans')).toBe(42)
  expect(counterIn(text, 'IpExt', 'TCPSynRetrans')).toBe(7)
  expect(counterIn('IpExt: A\nIpExt: 1\n', 'TcpExt', 'TCPSynRetrans')).toBe(0)
})

test('this kernel has them', () => {
  const { repeated, resets } = readSynCounters()
  expect([repeated >= 0, resets >= 0]).toEqual([true, true])
})

test.each([
  ['nothing', { repeated: 4, resets: 9 }, { lost: 0, metTimeWait: 0 }],
  ['lost', { repeated: 6, resets: 9 }, { lost: 2, metTimeWait: 0 }],
  ['answered by a TIME_WAIT', { repeated: 5, resets: 10 }, { lost: 0, metTimeWait: 1 }],
  ['both', { repeated: 7, resets: 10 }, { lost: 2, metTimeWait: 1 }],
  ['a reset of something else', { repeated: 4, resets: 12 }, { lost: 0, metTimeWait: 0 }],
])('a first packet: %s', (_, after, repeats) => {
  expect(repeatsBetween({ repeated: 4, resets: 9 }, after)).toEqual(repeats)
})
