import { describe, expect, test } from 'vitest'
import type { DrainingBackend, EntryId, ForwardingEntry, Frontend } from './entry.ts'
import { isSameEntry, isSameForwarding } from './equality.ts'
import { CLUSTER_IP, cidr, ip, serviceKey } from './testing/fixtures.ts'

const frontend: Frontend = {
  kind: 'loadBalancerIP',
  ip: ip('1.2.3.4'),
  port: 80,
  pool: 'cluster',
  shortCircuit: false,
  masquerade: 'always',
  sourceRanges: [cidr('9.0.0.0/8')],
}
const draining: DrainingBackend = {
  ip: ip('10.0.0.1'),
  port: 8080,
  weight: 1,
  local: false,
  until: 5,
}

function entry(overrides: Partial<ForwardingEntry> = {}): ForwardingEntry {
  return {
    id: 'shop/cart:http/TCP/4' as EntryId,
    service: serviceKey('shop/cart'),
    portName: 'http',
    protocol: 'TCP',
    family: 4,
    frontends: [{ ...frontend }],
    pools: { cluster: [{ ip: CLUSTER_IP, port: 1, weight: 1, local: false }], local: [] },
    whenEmpty: { cluster: 'reject', local: 'reject' },
    draining: [{ ...draining }],
    affinity: { seconds: 60 },
    scheduler: 'rr',
    ...overrides,
  }
}

test('two entries of the same content are the same', () => {
  expect(isSameForwarding(entry(), entry())).toBe(true)
  expect(isSameEntry(entry(), entry({ refused: [] }))).toBe(true)
})

describe('every field that reaches the kernel counts', () => {
  const backend = { ip: CLUSTER_IP, port: 1, weight: 1, local: false }
  const pool = (change: object) => ({ pools: { cluster: [{ ...backend, ...change }], local: [] } })
  const front = (change: object) => ({ frontends: [{ ...frontend, ...change }] })
  const drain = (change: object) => ({ draining: [{ ...draining, ...change }] })

  test.each<[string, Partial<ForwardingEntry>]>([
    ['id', { id: 'shop/cart:http/TCP/6' as EntryId }],
    ['scheduler', { scheduler: undefined }],
    ['PROXY protocol', { proxyProtocol: 'v2' }],
    ['affinity', { affinity: { seconds: 61 } }],
    ['clients shared with other ports', { affinity: { seconds: 60, isShared: true } }],
    ['no affinity', { affinity: undefined }],
    ['empty cluster', { whenEmpty: { cluster: 'drop', local: 'reject' } }],
    ['empty local', { whenEmpty: { cluster: 'reject', local: 'drop' } }],
    ['frontend kind', front({ kind: 'externalIP' })],
    ['frontend ip', front({ ip: ip('1.2.3.5') })],
    ['frontend port', front({ port: 81 })],
    ['frontend pool', front({ pool: 'local' })],
    ['frontend short circuit', front({ shortCircuit: true })],
    ['frontend masquerade', front({ masquerade: 'onNode' })],
    ['frontend range', front({ sourceRanges: [cidr('8.0.0.0/8')] })],
    ['frontend without ranges', front({ sourceRanges: undefined })],
    ['frontend for no client', front({ sourceRanges: [] })],
    ['frontend count', { frontends: [] }],
    ['backend ip', pool({ ip: ip('10.0.0.9') })],
    ['backend port', pool({ port: 2 })],
    ['backend weight', pool({ weight: 2 })],
    ['backend local', pool({ local: true })],
    ['local pool', { pools: { cluster: [backend], local: [backend] } }],
    ['draining ip', drain({ ip: ip('10.0.0.9') })],
    ['draining until', drain({ until: 6 })],
    ['draining count', { draining: [] }],
  ])('%s', (_, change) => {
    expect(isSameForwarding(entry(), entry(change))).toBe(false)
    expect(isSameForwarding(entry(change), entry())).toBe(false)
  })

  test('ranges that admit no client are not no ranges', () => {
    const closed = entry(front({ sourceRanges: [] }))
    expect(isSameForwarding(closed, entry(front({ sourceRanges: undefined })))).toBe(false)
  })
})

describe('a refusal concerns the status alone', () => {
  const refusal = {
    kind: 'externalIP',
    ip: ip('127.0.0.1'),
    port: 80,
    code: 'NP_FORWARDING_SPECIAL_ADDRESS',
    message: 'no',
  } as const

  test.each([
    { kind: 'endpoint' as const },
    { ip: ip('127.0.0.2') },
    { port: 81 },
    { code: 'NP_FORWARDING_NOT_ALLOWED' as const },
    { message: 'never' },
  ])('%o', (change) => {
    const one = entry({ refused: [refusal] })
    const other = entry({ refused: [{ ...refusal, ...change }] })
    expect(isSameForwarding(one, other)).toBe(true)
    expect(isSameEntry(one, other)).toBe(false)
  })
})
