import { expect, test } from 'vitest'
import type { IpAddress } from '../../lib/ip.ts'
import { undialable } from './pod-stream-verbs.ts'

const OWN = ['192.0.2.1', '2001:db8::1'] as IpAddress[]

function pod(...ips: readonly string[]) {
  const status = { phase: 'Running', podIP: ips[0] ?? '', podIPs: ips.map((ip) => ({ ip })) }
  return { metadata: { name: 'web' }, spec: {}, status }
}

test.each([
  ['127.0.0.1'],
  ['127.9.9.9'],
  ['::1'],
  ['169.254.169.254'],
  ['fe80::1'],
  ['10.1.0.1', 'fe80::1'],
  ['0.0.0.0'],
  ['::'],
  ['224.0.0.1'],
  ['::ffff:10.1.0.1'],
  ['::ffff:7f00:1'],
  ['192.0.2.1'],
  ['10.1.0.1', '2001:DB8::1'],
  ['localhost'],
  [],
])('a Pod at %s %s is not dialled', (...ips) => {
  expect(undialable(pod(...ips), OWN)?.status.message).toContain('not those of a pod')
})

test('a Pod at addresses of its own is', () => {
  expect(undialable(pod('10.1.0.1', 'fd77::2'), OWN)).toBeUndefined()
})
