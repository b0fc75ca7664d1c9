import { expect, test } from 'vitest'
import { proxyHeader } from './proxy-header.ts'
import { at } from './testing/worker-fixtures.ts'

/** Examples as in sections 2.1 and 2.2 of the PROXY protocol (haproxy.org). */
const FOUR = { client: at('192.168.0.1', 56_324), destination: at('192.168.0.11', 443) }
const SIX = { client: at('2001:db8::1', 56_324), destination: at('2001:db8::ff', 443) }
const SIGNATURE = '0d0a0d0a000d0a515549540a'

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')

test.each([
  [FOUR, 'PROXY TCP4 192.168.0.1 192.168.0.11 56324 443\r\n'],
  [SIX, 'PROXY TCP6 2001:db8::1 2001:db8::ff 56324 443\r\n'],
])('version 1 is one line', (talk, line) => {
  expect(Buffer.from(proxyHeader('v1', talk)).toString('latin1')).toBe(line)
})

test('version 2 for IPv4: stream, 12 bytes of addresses', () => {
  const addresses = 'c0a80001c0a8000bdc0401bb'
  expect(hex(proxyHeader('v2', FOUR))).toBe(`${SIGNATURE}2111000c${addresses}`)
})

test('version 2 for IPv6: stream, 36 bytes of addresses', () => {
  const addresses = `20010db8${'00'.repeat(11)}0120010db8${'00'.repeat(11)}ffdc0401bb`
  expect(hex(proxyHeader('v2', SIX))).toBe(`${SIGNATURE}21210024${addresses}`)
})

test('the longest line is within the limit that receivers count on', () => {
  const longest = at('ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', 65_535)
  const line = proxyHeader('v1', { client: longest, destination: longest })
  expect(line.length).toBeLessThanOrEqual(107)
})

test('an address within the memory of a longer one is read to its end only', () => {
  const memory = new Uint8Array(28).fill(0xff)
  memory.set(FOUR.client)
  expect(hex(proxyHeader('v2', { ...FOUR, client: memory }))).toBe(hex(proxyHeader('v2', FOUR)))
})
