import fc from 'fast-check'
import { expect, test } from 'vitest'
import { formatIp, type IpAddress } from '../lib/ip.ts'
import { isSubdomain } from '../resources/names.ts'
import type { LeaseWrite } from './election.ts'
import { addressOfLease, leaseName, leaseObject, readLease } from './lease-object.ts'

const WRITE: LeaseWrite = {
  ip: '2001:db8::50' as IpAddress,
  reason: 'renew',
  version: '17',
  record: {
    holder: 'node-1',
    renewal: 1_000,
    duration: 800,
    requestedBy: 'node-2',
    releasedBy: 'node-3',
  },
}
const NOW = Date.UTC(2026, 10, 29, 18, 4) * 1_000 + 123_456

test('a renewal as an object', () => {
  expect(leaseObject(WRITE, NOW)).toEqual({
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: {
      name: 'announced-2001-0db8-0000-0000-0000-0000-0000-0050',
      namespace: 'kube-system',
      resourceVersion: '17',
      labels: { 'announcement.orch.io/address': '2001-0db8-0000-0000-0000-0000-0000-0050' },
      annotations: {
        'announcement.orch.io/lease-duration-ms': '800',
        'announcement.orch.io/requested-by': 'node-2',
        'announcement.orch.io/released-by': 'node-3',
      },
    },
    spec: {
      holderIdentity: 'node-1',
      leaseDurationSeconds: 1,
      renewTime: '2026-11-29T18:04:00.123456Z',
    },
  })
})

test('a new Lease has neither a version, nor a holder, nor a renewal', () => {
  const record = { holder: '', renewal: 0, duration: 15_000, requestedBy: '', releasedBy: '' }
  const write = { ...WRITE, reason: 'create', version: undefined, record } as const
  expect(leaseObject(write, NOW)).toMatchObject({
    metadata: { annotations: { 'announcement.orch.io/lease-duration-ms': '15000' } },
    spec: { leaseDurationSeconds: 15 },
  })
  const object = leaseObject(write, NOW) as { metadata: object; spec: object }
  expect([...Object.keys(object.metadata), ...Object.keys(object.spec)]).toEqual([
    'name',
    'namespace',
    'labels',
    'annotations',
    'leaseDurationSeconds',
  ])
})

test('a clock that is behind the last renewal still makes a later one; a request makes none', () => {
  const record = { ...WRITE.record, renewal: NOW + 5 }
  const renewalOf = (write: LeaseWrite) => readLease(stored(write))?.renewal
  expect(renewalOf({ ...WRITE, record })).toBe(NOW + 5)
  expect(
    renewalOf({ ...WRITE, reason: 'request', record: { ...record, renewal: 7_000_000 } }),
  ).toBe(7_000_000)
})

/** What the API server has after a write, with a version of its own. */
function stored(write: LeaseWrite): unknown {
  const object = leaseObject(write, NOW) as { metadata: object }
  return { ...object, metadata: { ...object.metadata, resourceVersion: '18' } }
}

test('what is written is read again', () => {
  const names = fc.constantFrom('', 'node-1', 'node-2')
  const records = fc.record({
    holder: names,
    requestedBy: names,
    releasedBy: names,
    renewal: fc.oneof(fc.constant(0), fc.integer({ min: NOW, max: NOW * 2 })),
    duration: fc.integer({ min: 1, max: 1e6 }),
  })
  const check = (record: LeaseWrite['record']): void => {
    const read = readLease(stored({ ...WRITE, reason: 'request', record }))
    expect(read).toEqual({ ...record, version: '18' })
  }
  fc.assert(fc.property(records, check))
})

test('a Lease without our annotation has the duration of its seconds', () => {
  const spec = { holderIdentity: 'a', leaseDurationSeconds: 15, renewTime: 'soon' }
  expect(readLease({ metadata: { resourceVersion: '5' }, spec })).toEqual({
    version: '5',
    holder: 'a',
    renewal: 0,
    duration: 15_000,
    requestedBy: '',
    releasedBy: '',
  })
})

test('what is no Lease is none, and nothing throws', () => {
  expect([undefined, [], {}, { metadata: { resourceVersion: 'x' } }].map(readLease)).toEqual(
    Array(4).fill(undefined),
  )
  const anything = fc.record({ metadata: fc.anything(), spec: fc.anything() })
  const check = (object: unknown): void => {
    const duration = readLease(object)?.duration ?? 0
    expect(duration).toBeGreaterThanOrEqual(0)
  }
  fc.assert(fc.property(anything, check))
})

test('the name of a Lease is valid, and says its address', () => {
  const addresses = fc
    .oneof(
      fc.uint8Array({ minLength: 4, maxLength: 4 }),
      fc.uint8Array({ minLength: 16, maxLength: 16 }),
    )
    .map(formatIp)
  const check = (ip: IpAddress): void => {
    expect([isSubdomain(leaseName(ip)), addressOfLease(leaseName(ip))]).toEqual([true, ip])
  }
  fc.assert(fc.property(addresses, check))
  expect(leaseName('192.0.2.50' as IpAddress)).toBe('announced-192.0.2.50')
  const others = ['192.0.2.50', 'announced-', 'announced-::1', 'announced-192.0.2', 'node-1']
  expect(others.map(addressOfLease)).toEqual(Array(5).fill(undefined))
})
