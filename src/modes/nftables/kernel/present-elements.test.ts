import { expect, test } from 'vitest'
import { fakeNftablesNode } from '../../../../test/support/modes/fake-nftables-node.ts'
import {
  sendClients,
  strayClients,
} from '../../../../test/support/modes/nftables-histories/clients.ts'
import type { EntryId } from '../../../forwarding/entry.ts'
import type { Element } from '../../../kernel/nftables/objects.ts'
import { address, backendData, port } from '../../../kernel/nftables/rules/encode.ts'
import type { Family } from '../../../lib/ip.ts'
import { backend, entry, frontend, ip } from '../../testing/mode-fixtures.ts'
import { clientNames, tableOf } from '../keys/names.ts'
import { staleClients } from './present-elements.ts'

const ID = 'shop/cart' as EntryId
const names = clientNames(ID)

function sticky(family: Family, ...lasts: readonly number[]) {
  const at = (v4: string, v6: string) => (family === 4 ? v4 : v6)
  return entry({
    id: ID,
    family,
    affinity: { seconds: 60 },
    frontends: [frontend({ ip: ip(at('172.30.0.41', 'fd00:30::41')) })],
    pools: {
      cluster: lasts.map((last) => backend(at(`10.180.0.${last}`, `fd00:180::${last}`))),
      local: [],
    },
  })
}

async function remembering(family: Family, ...lasts: readonly number[]) {
  const node = fakeNftablesNode({ settings: { families: [family] } })
  await node.sync(sticky(family, ...lasts))
  sendClients(node.namespace)
  const clients = async (set = names.clients('cluster')) => {
    const found: Element[] = []
    await node.nftables.elements(tableOf(family), set, (element) => found.push(element))
    return found.map(({ key }) => key[0])
  }
  return { ...node, clients }
}

test.each([4, 6] as const)('IPv%i: clients are forgotten whose backend left', async (family) => {
  const { namespace, clients, sync } = await remembering(family, 1, 2, 3)
  expect(await clients()).toEqual([1, 2, 3])
  const { failed } = await sync(sticky(family, 1, 3))
  expect([...failed]).toEqual([])
  expect(await clients()).toEqual([1, 3])
  if (family === 6) expect(await clients(names.ports('cluster'))).toEqual([1, 3])
  expect(strayClients(namespace)).toEqual([])
})

test('a backend that comes is no reason to read the clients', async () => {
  const { nftables, sync } = await remembering(4, 1, 2)
  nftables.reads.length = 0
  await sync(sticky(4, 1, 2, 3))
  expect(nftables.reads).not.toContain(names.clients('cluster'))
})

test('a client that comes while a backend leaves is not remembered with it', async () => {
  const { namespace, nftables, clients, sync } = await remembering(4, 1, 2)
  const { length } = nftables.transactions
  // The first transaction only deletes the backend from its set; packets come before the second.
  nftables.meanwhile(() => undefined)
  nftables.meanwhile(() => sendClients(namespace))
  await sync(sticky(4, 2))
  expect(nftables.transactions.slice(length)[0]).toEqual([
    {
      do: 'deleteElements',
      table: tableOf(4),
      set: names.backends('cluster'),
      elements: [{ key: Buffer.from([10, 180, 0, 1, 31, 144, 0, 0]) }],
    },
  ])
  expect(nftables.transactions.slice(length)).toHaveLength(2)
  expect(await clients()).toEqual([2])
  expect(strayClients(namespace)).toEqual([])
})

test('clients that go by themselves in the meantime are no refusal', async () => {
  const { clock, nftables, clients, sync } = await remembering(4, 1, 2)
  clock.elapse(59_000)
  nftables.meanwhile(() => undefined)
  nftables.meanwhile(() => clock.elapse(1_500))
  const { failed } = await sync(sticky(4, 2))
  expect([...failed]).toEqual([])
  expect(await clients()).toEqual([])
})

test('frontends that are only known to be otherwise are read, with one dump of each map', async () => {
  const old = fakeNftablesNode({ settings: { families: [4] } })
  const at = (last: number) =>
    entry({ id: `shop/s${last}` as EntryId, frontends: [frontend({ ip: ip(`172.30.0.${last}`) })] })
  await old.sync(at(1), at(2), at(3))
  const { namespace, nftables, look, sync } = fakeNftablesNode({
    namespace: old.namespace,
    settings: { families: [4] },
  })
  await look()
  nftables.reads.length = 0
  const { failed } = await sync(at(3))
  expect([...failed]).toEqual([])
  expect(nftables.reads.filter((set) => set === 'endpoints')).toHaveLength(1)
  const fresh = fakeNftablesNode({ settings: { families: [4] } })
  await fresh.sync(at(3))
  const elements = (lines: readonly string[]) => lines.filter((line) => line.includes(' element '))
  expect(elements(namespace.dump())).toEqual(elements(fresh.namespace.dump()))
})

const CLIENT = ['192.0.2.1', '192.0.2.2', '192.0.2.3', '192.0.2.4'].map((text) => address(ip(text)))
const backends = [backend('fd00::1'), backend('fd00::2', { port: 9090 })].map(backendData)

function element(client: number, data: Buffer): Element {
  return { key: CLIENT[client]!, data }
}

test('clients of a backend that left, where one map has address and port', () => {
  const gone = element(1, backendData(backend('fd00::1', { port: 9090 })))
  const clients = [element(0, backends[0]!), gone, element(2, backends[1]!)]
  expect(staleClients(backends, clients)).toEqual({ clients: [gone], ports: [] })
})

test('in two maps a client is stale when address and port are of two backends, or one of them is missing', () => {
  const at = (client: number, text: string) => element(client, address(ip(text)))
  const good = [at(0, 'fd00::1'), element(0, port(8080))] as const
  const mixed = [at(1, 'fd00::1'), element(1, port(9090))] as const
  const alone = [at(2, 'fd00::1'), element(3, port(8080))] as const
  const [clients, ports] = [
    [good[0], mixed[0], alone[0]],
    [good[1], mixed[1], alone[1]],
  ]
  expect(staleClients(backends, clients, ports)).toEqual({
    clients: [mixed[0], alone[0]],
    ports: [mixed[1], alone[1]],
  })
})

test('without a backend every client is stale', () => {
  const clients = [element(0, backends[0]!)]
  expect(staleClients([], clients).clients).toEqual(clients)
})
