import { expect, test } from 'vitest'
import type { EntryId, ServiceKey } from '../../../forwarding/entry.ts'
import type { Nftables } from '../../../kernel/nftables/nftables.ts'
import type { Element, Table } from '../../../kernel/nftables/objects.ts'
import { entry, frontend, ip, settings } from '../../testing/mode-fixtures.ts'
import { frontendAddress } from '../keys/encode.ts'
import { SET } from '../keys/names.ts'
import { createManagedState } from './managed-state.ts'
import { readTraffic } from './read-traffic.ts'

const counted = (key: Buffer, packets: bigint, bytes: bigint): Element => ({
  key,
  counter: { packets, bytes },
})
const at = (text: string) => frontendAddress(ip(text), 'TCP', 80)
const NODE_PORT = frontendAddress('node', 'TCP', 30_080)

/** A kernel whose sets hold these elements, by family and set; others are empty. */
function reading(sets: Readonly<Record<string, readonly Element[]>>) {
  const elements = async (table: Table, set: string, visit: (element: Element) => void) => {
    for (const element of sets[`${table.family} ${set}`] ?? []) visit(element)
  }
  const options = settings({ families: [4, 6], countsTraffic: true })
  const state = createManagedState(options, { nftables: { elements } as unknown as Nftables })
  const add = (id: string, family: 4 | 6, service: string, ...frontends: object[]) =>
    state.program.replace(
      id as EntryId,
      entry({
        ...{ id: id as EntryId, family, service: service as ServiceKey },
        frontends: frontends.map((one) => frontend(one)),
      }),
    )
  add('shop/web:4', 4, 'shop/web', { ip: ip('172.30.0.1') }, { ip: 'node', port: 30_080 })
  add('shop/web:6', 6, 'shop/web', { ip: ip('fd00::1') })
  add('shop/db:4', 4, 'shop/db', { ip: ip('172.30.0.2') })
  return readTraffic(state)
}

test('a Service has the sum of its frontends in both families, each direction by itself', async () => {
  const traffic = await reading({
    [`4 ${SET.trafficIn}`]: [
      counted(at('172.30.0.1'), 1n, 100n),
      counted(at('172.30.0.2'), 7n, 7n),
    ],
    [`4 ${SET.nodePortTrafficIn}`]: [counted(NODE_PORT, 2n, 200n)],
    [`4 ${SET.nodePortTrafficOut}`]: [counted(NODE_PORT, 5n, 50n)],
    [`6 ${SET.trafficIn}`]: [counted(at('fd00::1'), 3n, 300n)],
  })
  expect([...traffic]).toEqual([
    ['shop/web', { packetsIn: 6, bytesIn: 600, packetsOut: 5, bytesOut: 50 }],
    ['shop/db', { packetsIn: 7, bytesIn: 7, packetsOut: 0, bytesOut: 0 }],
  ])
})

test('an element that a repeated dump passes again counts once, with what it has then', async () => {
  const [before, now] = [counted(at('172.30.0.2'), 7n, 70n), counted(at('172.30.0.2'), 8n, 80n)]
  const traffic = await reading({ [`4 ${SET.trafficOut}`]: [before, now] })
  expect(traffic.get('shop/db' as ServiceKey)).toMatchObject({ packetsOut: 8, bytesOut: 80 })
})

test('what another program added, and an element without a counter, is of no Service', async () => {
  const foreign = counted(at('172.30.0.9'), 1n, 1n)
  const traffic = await reading({ [`4 ${SET.trafficIn}`]: [foreign, { key: at('172.30.0.1') }] })
  expect([...traffic]).toEqual([])
})
