import { expect, test } from 'vitest'
import type { EntryId, ServiceKey } from '../../forwarding/entry.ts'
import type { Nftables } from '../../kernel/nftables/nftables.ts'
import type { Element, Table } from '../../kernel/nftables/objects.ts'
import { backendData, frontendAddress } from '../../kernel/nftables/rules/encode.ts'
import { backend, entry, frontend, ip, settings } from '../testing/mode-fixtures.ts'
import { createManagedState } from './kernel/managed-state.ts'
import { SET } from './keys/names.ts'
import { readTraffic } from './read-traffic.ts'

const [WEB, DB] = ['shop/web', 'shop/db'] as ServiceKey[]
const NONE = { connections: 0 }
const counted = (key: Buffer, packets: bigint, bytes = 0n): Element => ({
  key,
  counter: { packets, bytes },
})
const at = (text: string) => frontendAddress(ip(text), 'TCP', 80)
const NODE_PORT = frontendAddress('node', 'TCP', 30_080)

/** What `connections` has of a frontend and a backend. */
function connections(address: string, port: number, to: string, count: bigint): Element {
  const place = frontendAddress(ip(address), 'TCP', port)
  return counted(Buffer.concat([place, backendData({ ip: ip(to), port: 8080 })]), count)
}

/** A kernel whose sets hold these elements, by family and set; others are empty. */
function reading(sets: Readonly<Record<string, readonly Element[]>>, wanted?: ServiceKey) {
  const elements = async (table: Table, set: string, visit: (element: Element) => void) => {
    for (const element of sets[`${table.family} ${set}`] ?? []) visit(element)
  }
  const given = settings({ families: [4, 6], countsTraffic: true })
  const state = createManagedState(given, { nftables: { elements } as unknown as Nftables })
  const add = (id: string, family: 4 | 6, backends: readonly string[], ...frontends: object[]) =>
    state.program.replace(
      id as EntryId,
      entry({
        id: id as EntryId,
        family,
        service: id.slice(0, -2) as ServiceKey,
        frontends: frontends.map((one) => frontend(one)),
        pools: {
          cluster: backends.map((one) => backend(one)),
          local: backends.slice(0, 1).map((one) => backend(one)),
        },
      }),
    )
  add(
    'shop/web:4',
    4,
    ['10.0.0.1', '10.0.0.2'],
    { ip: ip('172.30.0.1') },
    { ip: 'node', port: 30_080 },
  )
  add('shop/web:6', 6, ['fd00:10::1'], { ip: ip('fd00::1') })
  add(
    'shop/db:4',
    4,
    ['10.0.0.1'],
    { ip: ip('172.30.0.2') },
    { ip: ip('172.30.0.3'), port: 30_080 },
  )
  return readTraffic(state, (service) => service === wanted)
}

test('packets: the sum of the frontends in both families, each direction by itself', async () => {
  const { totals } = await reading({
    [`4 ${SET.trafficIn}`]: [
      counted(at('172.30.0.1'), 1n, 100n),
      counted(at('172.30.0.2'), 7n, 7n),
    ],
    [`4 ${SET.nodePortTrafficIn}`]: [counted(NODE_PORT, 2n, 200n)],
    [`4 ${SET.nodePortTrafficOut}`]: [counted(NODE_PORT, 5n, 50n)],
    [`6 ${SET.trafficIn}`]: [counted(at('fd00::1'), 3n, 300n)],
  })
  expect([...totals]).toEqual([
    [WEB, { ...NONE, packetsIn: 6, bytesIn: 600, packetsOut: 5, bytesOut: 50 }],
    [DB, { ...NONE, packetsIn: 7, bytesIn: 7, packetsOut: 0, bytesOut: 0 }],
  ])
})

test('an element that a repeated list passes again counts once, with what it has then', async () => {
  const [before, now] = [counted(at('172.30.0.2'), 7n, 70n), counted(at('172.30.0.2'), 8n, 80n)]
  const connected = [1n, 3n].map((count) => connections('172.30.0.2', 80, '10.0.0.1', count))
  const { totals } = await reading({
    [`4 ${SET.trafficOut}`]: [before, now],
    [`4 ${SET.connections}`]: connected,
  })
  expect(totals.get(DB!)).toMatchObject({ connections: 3, packetsOut: 8, bytesOut: 80 })
})

test('what another program added, and an element without a counter, is of no Service', async () => {
  const foreign = counted(at('172.30.0.9'), 1n, 1n)
  const { totals, backends } = await reading({
    [`4 ${SET.trafficIn}`]: [foreign, { key: at('172.30.0.1') }],
    [`4 ${SET.connections}`]: [connections('172.30.0.9', 80, '10.0.0.1', 1n)],
  })
  expect([...totals]).toEqual([
    [WEB, NONE],
    [DB, NONE],
  ])
  expect([...backends]).toEqual([])
})

test('connections by Service and by the backends of the wanted ones, over frontends and families', async () => {
  const { totals, backends } = await reading(
    {
      [`4 ${SET.connections}`]: [
        connections('172.30.0.1', 80, '10.0.0.1', 1n),
        connections('192.168.0.2', 30_080, '10.0.0.1', 2n),
        connections('192.168.0.9', 30_080, '10.0.0.1', 4n),
        // A backend that left stays in the total.
        connections('172.30.0.1', 80, '10.0.0.7', 8n),
        // The address of a Service comes before the node port of the same number.
        connections('172.30.0.3', 30_080, '10.0.0.1', 16n),
      ],
      [`6 ${SET.connections}`]: [connections('fd00::1', 80, 'fd00:10::1', 32n)],
    },
    WEB,
  )
  expect([...totals]).toEqual([
    [WEB, { connections: 47 }],
    [DB, { connections: 16 }],
  ])
  expect([...backends.keys()]).toEqual([WEB])
  expect(backends.get(WEB!)).toEqual([
    { entry: 'shop/web:4', ip: '10.0.0.1', port: 8080, connections: 7 },
    { entry: 'shop/web:4', ip: '10.0.0.2', port: 8080, connections: 0 },
    { entry: 'shop/web:6', ip: 'fd00:10::1', port: 8080, connections: 32 },
  ])
})
