import { expect, test } from 'vitest'
import { parseRepeatedSyns, repeatedSyns } from './repeated-syns.ts'

test('finds the counter by its name', () => {
  const text = 'TcpExt: A TCPSynRetrans B\nTcpExt: 1 42 3\nIpExt: TCPSynRetrans\nIpExt: 7\n'
  expect(parseRepeatedSyns(text)).toBe(42)
  expect(parseRepeatedSyns('IpExt: A\nIpExt: 1\n')).toBe(0)
})

test('this kernel has it', () => {
  expect(repeatedSyns()).toBeGreaterThanOrEqual(0)
})
