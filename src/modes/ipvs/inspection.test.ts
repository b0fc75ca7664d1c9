import { expect, test } from 'vitest'
import {
  FOREIGN_SERVER,
  fakeIpvsNode,
  fakeKernel,
  foreignAt,
  POD,
  pass,
  SERVER_KEY,
  serversOf,
  service,
  VIP,
} from '../../../test/support/modes/fake-ipvs-node.ts'
import { NodeProxyError } from '../../lib/error.ts'
import type { ForeignChange } from '../mode.ts'
import { memberKey } from '../netfilter/object-key.ts'
import { ip } from '../testing/mode-fixtures.ts'
import { SETS } from './objects/names.ts'

const EVERYTHING = { keys: 'all', by: 'another program' }

/** A node that is watched, with some Services. */
async function watched(services = 1) {
  const node = fakeIpvsNode(fakeKernel())
  const reported: ForeignChange[] = []
  const all = Array.from({ length: services }, (_, n) =>
    service(`s${n}`, `172.30.${n >> 8}.${(n & 255) + 1}`),
  )
  await node.sync(...all)
  const stop = node.mode.watch((change) => reported.push(change))
  const wait = (seconds: number) => pass(node.kernel, seconds)
  return { ...node, reported, stop, wait, rounds: () => reported.splice(0) }
}

test('changes of our own are not reported', async () => {
  const { sync, remove, kernel, wait, reported } = await watched(3)
  await wait(3)
  await sync(service('s0', '172.30.0.1', ['10.180.0.9']), service('x', '172.30.9.9', []))
  await wait(2)
  kernel.ipvs.setConnections(VIP, { ip: ip('10.180.0.9'), port: 8080 }, { activeConnections: 1 })
  await remove('s0', 's1')
  await wait(5)
  await kernel.ipvs.run(foreignAt({ ...VIP, ip: ip('172.30.77.77') }))
  await wait(2)
  expect(reported).toEqual([])
})

test('a flush is noticed within a second, at any number of Services', async () => {
  const { kernel, wait, rounds } = await watched(200)
  await wait(3)
  await kernel.ipvs.flush()
  await wait(1)
  expect(rounds()).toEqual([EVERYTHING])
})

test('one that is gone or altered is reported by name', async () => {
  const { kernel, wait, rounds } = await watched(2)
  await kernel.ipvs.run([{ do: 'deleteService', id: VIP }])
  await wait(1)
  expect(rounds()).toEqual([{ keys: [SERVER_KEY], by: 'another program' }])
  const id = { ...VIP, ip: ip('172.30.0.2') }
  await kernel.ipvs.run([{ do: 'addServer', id, server: FOREIGN_SERVER }])
  await wait(1)
  expect(rounds()[0]?.keys).toContain('vs/4/tcp/172.30.0.2:80')
})

test('every virtual server is looked at in its turn', async () => {
  const { kernel, wait, rounds } = await watched(100)
  const id = { ...VIP, ip: ip('172.30.0.90') }
  await kernel.ipvs.run([{ do: 'deleteServer', id, server: POD }])
  await wait(5)
  expect(rounds()).toEqual([])
  await wait(1)
  expect(rounds()).toEqual([{ keys: ['vs/4/tcp/172.30.0.90:80'], by: 'another program' }])
})

test('a member that was exchanged for another one, though their number is the same', async () => {
  const { kernel, wait, rounds } = await watched()
  const name = 'NPVS-4-SERVICES'
  const other = { ...VIP, ip: ip('172.30.0.99') }
  await kernel.sets.run([
    { do: 'delete', name, member: VIP },
    { do: 'add', name, member: other },
  ])
  await wait(SETS[4].kept.length * 2)
  const texts = ['172.30.0.99,tcp:80', '172.30.0.1,tcp:80']
  expect(rounds()).toContainEqual({
    keys: texts.map((text) => memberKey(name, text)),
    by: 'another program',
  })
})

test('another scheduler, though all backends are as they were', async () => {
  const { kernel, wait, rounds } = await watched()
  const settings = { scheduler: 'wrr', flags: [], persistence: undefined }
  await kernel.ipvs.run([{ do: 'setService', id: VIP, settings }])
  await wait(1)
  expect(rounds()).toEqual([{ keys: [SERVER_KEY], by: 'another program' }])
})

test('backends that drain and end are no change by others', async () => {
  const { kernel, sync, wait, reported } = await watched()
  kernel.ipvs.setConnections(VIP, POD, { activeConnections: 1 })
  await sync(service('s0', '172.30.0.1', ['10.180.0.2']))
  await wait(3)
  kernel.ipvs.setConnections(VIP, POD, {})
  await wait(3)
  expect(reported).toEqual([])
})

test('sets that another process changed are reported', async () => {
  const { kernel, wait, rounds } = await watched()
  await kernel.sets.run([{ do: 'flush', name: 'NPVS-4-SERVICES' }])
  await wait(1)
  expect(rounds()).toEqual([EVERYTHING])
})

test('a kernel that does not answer is looked at again, and the driftChecker goes on', async () => {
  const { kernel, wait, rounds } = await watched()
  kernel.ipvs.failure = new NodeProxyError('NP_KERNEL_NETLINK', 'no answer')
  await wait(1)
  expect(rounds()).toEqual([{ keys: 'all', by: 'an unknown program: the check got no answer' }])
  kernel.ipvs.failure = undefined
  await wait(1)
  expect(rounds()).toEqual([])
  await kernel.ipvs.flush()
  await wait(1)
  expect(rounds()).toEqual([EVERYTHING])
})

test('changes of rules and routes are reported as well', async () => {
  const { kernel, rounds } = await watched()
  const chain = { family: 4, table: 'mangle', chain: 'NPVS-TAKE' } as const
  kernel.monitor.change({ touched: [chain], by: { pid: 7, process: 'iptables' } })
  kernel.routes.foreignRuleFlush(6)
  expect(rounds()).toEqual([
    { keys: ['4/mangle/NPVS-TAKE'], by: 'iptables (pid 7)' },
    { keys: ['route/4', 'route/6'], by: 'another program' },
  ])
})

test('one that is stopped does no more, not even when it waited for its turn', async () => {
  const { kernel, mode, sync, stop, wait, reported } = await watched()
  await sync(service('s0', '172.30.0.1', ['10.180.0.2']))
  await kernel.sets.run([{ do: 'flush', name: 'NPVS-4-VIPS' }])
  const { sets } = kernel
  const gate = Promise.withResolvers<void>()
  const headers = sets.headers.bind(sets)
  sets.headers = async (prefix) => {
    await gate.promise
    return headers(prefix)
  }
  const reading = mode.observe()
  await wait(1)
  stop()
  gate.resolve()
  await reading
  await wait(5)
  expect(reported).toEqual([])
  expect(Object.values(await serversOf(kernel))).toEqual(['rr|10.180.0.1:8080*0 10.180.0.2:8080*1'])
  expect(kernel.clock.pending()).toEqual([])
  expect(kernel.monitor.started).toBe(false)
})
