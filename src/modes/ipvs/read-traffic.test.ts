import { expect, test } from 'vitest'
import {
  fakeIpvsNode,
  fakeKernel,
  foreignAt,
  service,
  VIP,
} from '../../../test/support/modes/fake-ipvs-node.ts'
import type { ServiceKey } from '../../forwarding/entry.ts'
import { frontend, ip } from '../testing/mode-fixtures.ts'

const at = (address: string, port = 80) =>
  ({ family: 4, protocol: 'TCP', ip: ip(address), port }) as const
const POD = { ip: ip('10.180.0.1'), port: 8080 }
const OTHER = { ip: ip('10.180.0.2'), port: 8080 }
const all = () => true

/** Two Services; the first is reached at its ClusterIP, at node ports, and from inside by a mark. */
async function rig() {
  const node = fakeIpvsNode()
  const nodePort = frontend({ kind: 'nodePort', ip: 'node', port: 30_080, masquerade: 'always' })
  const local = { pool: 'local', shortCircuit: true, masquerade: 'onNode' } as const
  const external = frontend({ kind: 'externalIP', ip: ip('5.6.7.8'), ...local })
  await node.sync(
    service('a', '172.30.0.1', ['10.180.0.1', '10.180.0.2'], {
      service: 'shop/a' as ServiceKey,
      frontends: [frontend({ ip: ip('172.30.0.1') }), external, nodePort],
    }),
    service('b', '172.30.0.2', ['10.180.0.9'], { service: 'shop/b' as ServiceKey }),
  )
  const { ipvs } = node.kernel
  const marked = (await ipvs.services()).find(({ id }) => 'mark' in id)?.id
  if (marked === undefined) throw new Error('no virtual server has a mark')
  return { ...node, ipvs, marked }
}

test('a Service is the sum of its virtual servers, those with a mark too', async () => {
  const { mode, ipvs, marked } = await rig()
  ipvs.setCounters(at('172.30.0.1'), { connections: 1, incomingPackets: 3, incomingBytes: 300 })
  ipvs.setCounters(at('192.0.2.10', 30_080), { connections: 10, outgoingPackets: 7 })
  ipvs.setCounters(marked, { connections: 100, outgoingBytes: 900 })
  ipvs.setCounters(at('172.30.0.2'), { connections: 5 })
  const { totals } = await mode.readTraffic()
  expect(totals.get('shop/a' as ServiceKey)).toEqual({
    connections: 111,
    packetsIn: 3,
    bytesIn: 300,
    packetsOut: 7,
    bytesOut: 900,
  })
  expect(totals.get('shop/b' as ServiceKey)).toMatchObject({ connections: 5, bytesIn: 0 })
})

test('a backend is the sum of its places in virtual servers, with its present connections', async () => {
  const { mode, ipvs, marked } = await rig()
  ipvs.setServerCounters(at('172.30.0.1'), POD, { connections: 2, incomingBytes: 20 })
  ipvs.setServerCounters(marked, POD, { connections: 3, incomingBytes: 30 })
  ipvs.setServerCounters(marked, OTHER, { connections: 4 })
  ipvs.setConnections(at('172.30.0.1'), POD, { activeConnections: 1 })
  ipvs.setConnections(marked, POD, { inactiveConnections: 6 })
  const backends = (await mode.readTraffic(all)).backends.get('shop/a' as ServiceKey)
  expect(backends).toHaveLength(2)
  expect(backends).toContainEqual({
    entry: 'a',
    ...POD,
    connections: 5,
    connectionsNow: 7,
    packetsIn: 0,
    bytesIn: 50,
    packetsOut: 0,
    bytesOut: 0,
  })
  expect(backends?.find(({ ip: one }) => one === OTHER.ip)).toMatchObject({ connections: 4 })
})

test('real servers of other Services are not requested, and foreign virtual servers do not count', async () => {
  const { mode, ipvs } = await rig()
  const foreign = at('172.30.0.77')
  const settings = { scheduler: 'rr', flags: [], persistence: undefined }
  await ipvs.run([{ do: 'addService', id: foreign, settings }])
  ipvs.setCounters(foreign, { connections: 9 })
  const only = await mode.readTraffic((one) => one === 'shop/b')
  expect([...only.backends.keys()]).toEqual(['shop/b'])
  expect([...(await mode.readTraffic()).backends.keys()]).toEqual([])
  expect([...only.totals.keys()].toSorted()).toEqual(['shop/a', 'shop/b'])
})

test('a virtual server that another process has at the address of a Service does not count for it', async () => {
  const kernel = fakeKernel()
  await kernel.ipvs.run(foreignAt(VIP))
  const { look, sync, mode } = fakeIpvsNode(kernel)
  await look()
  await sync(service('a', '172.30.0.1'))
  kernel.ipvs.setCounters(VIP, { connections: 9 })
  expect((await mode.readTraffic()).totals).toEqual(new Map())
})

test('a backend that goes leaves the counters of the others, and of the Service, as they are', async () => {
  const { mode, ipvs, sync } = await rig()
  ipvs.setCounters(at('172.30.0.2'), { connections: 5 })
  ipvs.setServerCounters(at('172.30.0.2'), { ip: ip('10.180.0.9'), port: 8080 }, { connections: 5 })
  await sync(
    service('b', '172.30.0.2', ['10.180.0.9', '10.180.0.8'], { service: 'shop/b' as ServiceKey }),
  )
  const backends = (await mode.readTraffic(all)).backends.get('shop/b' as ServiceKey)
  expect(backends?.map(({ connections }) => connections).toSorted()).toEqual([0, 5])
  const { totals } = await mode.readTraffic()
  expect(totals.get('shop/b' as ServiceKey)).toMatchObject({ connections: 5 })
})
