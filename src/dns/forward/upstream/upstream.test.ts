import { expect, test } from 'vitest'
import { parseUpstream, upstreamName } from './upstream.ts'

test.each([
  ['10.0.0.1', '10.0.0.1:53'],
  ['10.0.0.1:5353', '10.0.0.1:5353'],
  ['127.0.0.53', '127.0.0.53:53'],
  ['fd00::1', '[fd00::1]:53'],
  ['FD00:0::1', '[fd00::1]:53'],
  ['[fd00::1]', '[fd00::1]:53'],
  ['[fd00::1]:5353', '[fd00::1]:5353'],
  ['fe80::1%eth0', '[fe80::1%eth0]:53'],
  ['[FE80::1%eth0]:54', '[fe80::1%eth0]:54'],
])('%s is %s', (text, name) => {
  expect(upstreamName(parseUpstream(text)!)).toBe(name)
})

test.each([
  '',
  'dns.example.com',
  '10.0.0.256',
  '010.0.0.1',
  '10.0.0.1:0',
  '10.0.0.1:65536',
  '10.0.0.1:',
  'fd00::1%eth0',
  'fe80::1%',
  'fe80::1%a/b',
  '[fd00::1',
  '[10.0.0.1]x',
  'https://10.0.0.1',
  '0.0.0.0',
  '::',
  '224.0.0.251',
  'ff02::fb',
  '255.255.255.255',
  '::ffff:10.0.0.1',
])('%j is no upstream', (text) => {
  expect(parseUpstream(text)).toBeUndefined()
})
