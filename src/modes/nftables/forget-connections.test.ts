import { constants } from 'node:os'
import { expect, test } from 'vitest'
import { fakeNftablesNode } from '../../../test/support/modes/fake-nftables-node.ts'
import type { EntryId, ForwardingEntry } from '../../forwarding/entry.ts'
import { backendData, frontendAddress } from '../../kernel/nftables/rules/encode.ts'
import { backend, entry, frontend, ip } from '../testing/mode-fixtures.ts'
import { SET, tableOf } from './keys/names.ts'

const table = tableOf(4)
const BACKEND = '10.0.0.1'

function service(id: string, ...frontends: readonly object[]): ForwardingEntry {
  return entry({
    id: id as EntryId,
    frontends: frontends.map((one) => frontend(one)),
    pools: { cluster: [backend(BACKEND)], local: [] },
  })
}
const WEB = service('shop/web', { ip: ip('172.30.0.1') }, { ip: 'node', port: 30_080 })
const DB = service('shop/db', { ip: ip('172.30.0.2') }, { ip: ip('172.30.0.3'), port: 30_080 })

/** What packets to these addresses and ports leave behind, and what of it is there. */
function rig() {
  const node = fakeNftablesNode({ settings: { families: [4], countsTraffic: true } })
  const keyOf = (address: string, port: number) =>
    Buffer.concat([
      frontendAddress(ip(address), 'TCP', port),
      backendData({ ip: ip(BACKEND), port: 8080 }),
    ])
  const connect = (address: string, port: number) =>
    node.namespace.update(table, SET.connections, {
      key: keyOf(address, port),
      timeout: 60_000,
      counter: { packets: 1n, bytes: 60n },
    })
  const left = () =>
    [...(node.namespace.table(table)?.sets.get(SET.connections)?.store.all() ?? [])].map(
      ({ element: { key } }) => `${[...key.subarray(0, 4)].join('.')}:${key.readUInt16BE(8)}`,
    )
  return { ...node, connect, left }
}

test('with a frontend goes what was counted of it, and nothing of others', async () => {
  const { sync, remove, connect, left, nftables } = rig()
  await sync(WEB, DB)
  connect('172.30.0.1', 80)
  connect('192.168.0.2', 30_080)
  connect('192.168.0.3', 30_080)
  // An address of a Service comes before the node port of the same number.
  connect('172.30.0.3', 30_080)
  connect('172.30.0.2', 80)
  // Another program translates, too.
  connect('192.0.2.7', 443)
  await remove('shop/web')
  expect(left().toSorted()).toEqual(['172.30.0.2:80', '172.30.0.3:30080', '192.0.2.7:443'])
  nftables.reads.length = 0
  await sync(service('shop/db', { ip: ip('172.30.0.2') }))
  expect(left().toSorted()).toEqual(['172.30.0.2:80', '192.0.2.7:443'])
})

test('a replaced backend reads nothing and takes nothing', async () => {
  const { sync, connect, left, nftables } = rig()
  await sync(WEB)
  connect('172.30.0.1', 80)
  nftables.reads.length = 0
  await sync({ ...WEB, pools: { cluster: [backend('10.0.0.2')], local: [] } })
  expect(left()).toEqual(['172.30.0.1:80'])
  expect(nftables.reads).toEqual([])
})

test('a refusal leaves what was counted, and the change is made', async () => {
  const { sync, remove, connect, left, nftables } = rig()
  await sync(WEB)
  connect('172.30.0.1', 80)
  nftables.refuse(
    constants.errno.ENOENT,
    (command) => command.do === 'deleteElements' && command.set === SET.connections,
  )
  expect((await remove('shop/web')).failed.size).toBe(0)
  expect(left()).toEqual(['172.30.0.1:80'])
})
