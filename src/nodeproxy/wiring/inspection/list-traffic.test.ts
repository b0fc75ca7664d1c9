import { expect, test } from 'vitest'
import type { EntryId, ServiceKey } from '../../../forwarding/entry.ts'
import type { IpAddress } from '../../../lib/ip.ts'
import type { BackendTraffic, ServiceTraffic } from '../../../modes/mode.ts'
import { listTraffic } from './list-traffic.ts'

const backend = (service: string, ip: string, port = 80): BackendTraffic => ({
  ...{ entry: `${service}:/TCP/4` as EntryId, ip: ip as IpAddress, port, connections: 1 },
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

const COUNTING: ServiceTraffic = {
  totals: async () => new Map([['shop/web' as ServiceKey, { connections: 3, bytesIn: 0 }]]),
  backends: async (isWanted) => new Map([...BACKENDS].filter(([service]) => isWanted(service))),
}

function list(service: string, serviceTraffic?: ServiceTraffic) {
  const entries = ['tools/log', 'shop/web', 'shop/db', 'shop/web'].map((one) => ({ service: one }))
  const table = { entries: () => entries.values() }
  return Array.fromAsync(listTraffic({ table, mode: { serviceTraffic } } as never, service))
}

test('Services by name, backends by entry, address and port; what is not counted is absent', async () => {
  const listed = await list('', COUNTING)
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
  expect((await list(service, COUNTING)).map((one) => one.service)).toEqual(expected)
})

test('a mode that counts nothing lists the Services without a number, and one before the cluster none', async () => {
  expect(await list('shop/web')).toEqual([{ service: 'shop/web', total: {}, backends: [] }])
  expect(await Array.fromAsync(listTraffic(undefined, ''))).toEqual([])
})
