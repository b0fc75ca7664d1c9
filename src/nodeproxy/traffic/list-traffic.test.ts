import { expect, test } from 'vitest'
import type { EntryId, ServiceKey } from '../../forwarding/entry.ts'
import type { IpAddress } from '../../lib/ip.ts'
import type { BackendTraffic, TrafficReading } from '../../modes/mode.ts'
import { listTraffic } from './list-traffic.ts'

const backend = (service: string, ip: string, port = 80): BackendTraffic => ({
  entry: `${service}:/TCP/4` as EntryId,
  ip: ip as IpAddress,
  port,
  connections: 1,
})

const BACKENDS = new Map([
  [
    'shop/web' as ServiceKey,
    [
      backend('shop/web', '10.0.0.2', 90),
      backend('shop/web', '10.0.0.2'),
      backend('shop/web', '10.0.0.1'),
    ],
  ],
  ['tools/log' as ServiceKey, [backend('tools/log', '10.0.0.9')]],
])

const READING: TrafficReading = {
  totals: new Map([['shop/web' as ServiceKey, { connections: 3, bytesIn: 0 }]]),
  backends: BACKENDS,
}

function list(service: string, reading?: TrafficReading) {
  const entries = ['tools/log', 'shop/web', 'shop/db', 'shop/web'].map((one) => ({ service: one }))
  const table = { entries: () => entries.values() } as never
  return Array.fromAsync(listTraffic({ table, read: async () => reading }, service))
}

test('Services by name, backends by entry, address and port; what is not counted is absent', async () => {
  const listed = await list('', READING)
  expect(listed.map((one) => [one.service, one.total])).toEqual([
    ['shop/db', {}],
    ['shop/web', { connections: 3n, bytesIn: 0n }],
    ['tools/log', {}],
  ])
  expect(listed[1]?.backends?.map(({ ip, port, traffic }) => [ip, port, traffic])).toEqual([
    ['10.0.0.1', 80, { connections: 1n }],
    ['10.0.0.2', 80, { connections: 1n }],
    ['10.0.0.2', 90, { connections: 1n }],
  ])
})

test.each([
  ['shop/', ['shop/db', 'shop/web']],
  ['shop/web', ['shop/web']],
  ['shop/we', []],
])('%j: %j', async (service, expected) => {
  expect((await list(service, READING)).map((one) => one.service)).toEqual(expected)
})

test('a mode that counts nothing lists the Services without a number, and one before the cluster none', async () => {
  expect(await list('shop/web')).toEqual([{ service: 'shop/web', total: {}, backends: [] }])
  expect(await Array.fromAsync(listTraffic({ read: async () => READING }, ''))).toEqual([])
})

test('present connections of all backends are those of the Service', async () => {
  const now = (connectionsNow: number) => ({ ...backend('shop/web', '10.0.0.1'), connectionsNow })
  const totals = READING.totals
  const of = async (...backends: BackendTraffic[]) => {
    const reading = { totals, backends: new Map([['shop/web' as ServiceKey, backends]]) }
    return (await list('shop/web', reading))[0]?.total
  }
  expect(await of(now(2), now(3))).toEqual({ connections: 3n, bytesIn: 0n, connectionsNow: 5n })
  expect(await of(now(2), backend('shop/web', '10.0.0.2'))).toEqual({
    connections: 3n,
    bytesIn: 0n,
  })
})
