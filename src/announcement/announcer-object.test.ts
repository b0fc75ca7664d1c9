import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { IpAddress } from '../lib/ip.ts'
import { type Announcer, announcerObject, readAnnouncer } from './announcer-object.ts'

const NOW = Date.UTC(2026, 10, 29, 18, 4)
const ANNOUNCER: Announcer = {
  name: 'node-1',
  isExcluded: false,
  isReady: true,
  loadBalancerClass: 'example.com/layer2',
  addresses: ['192.0.2.11', '2001:db8::11'] as IpAddress[],
  seconds: 40,
}

test.each<Partial<Announcer>>([
  {},
  { isExcluded: true },
  { isReady: false },
  { loadBalancerClass: undefined, addresses: [] },
])('what is written is read again: %j', (more) => {
  const announcer = { ...ANNOUNCER, ...more }
  const renewal = '2026-11-29T18:04:00.000000Z'
  expect(readAnnouncer(announcerObject(announcer, NOW))).toEqual({ ...announcer, renewal })
})

test('what is no Lease of an announcer is none, and nothing throws', () => {
  const ofOther = { metadata: { name: 'announcer-node-2' }, spec: { holderIdentity: 'node-1' } }
  expect([undefined, [], {}, ofOther].map(readAnnouncer)).toEqual(Array(4).fill(undefined))
  const spec = { holderIdentity: 'node-1', leaseDurationSeconds: 'long' }
  expect(readAnnouncer({ metadata: { name: 'announcer-node-1' }, spec })).toMatchObject({
    addresses: [],
    seconds: 0,
    renewal: '',
  })
  const anything = fc.record({ metadata: fc.anything(), spec: fc.anything() })
  fc.assert(fc.property(anything, (object) => void readAnnouncer(object)))
})
