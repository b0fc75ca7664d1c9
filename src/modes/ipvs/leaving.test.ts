import { expect, test } from 'vitest'
import {
  FOREIGN_TEXT,
  fakeIpvsNode,
  foreignAt,
  membersOf,
  POD,
  pass,
  SERVER,
  serversOf,
  service,
  VIP,
} from '../../../test/support/modes/fake-ipvs-node.ts'
import { frontend, ip } from '../testing/mode-fixtures.ts'

const local = { pool: 'local', shortCircuit: true, masquerade: 'onNode' } as const

test('a Service that goes while it has connections waits for their end', async () => {
  const { sync, remove, kernel, mode, look } = fakeIpvsNode()
  const stop = mode.watch(() => {})
  await sync(service('a', '172.30.0.1'), service('b', '172.30.0.2'))
  kernel.ipvs.setConnections(VIP, POD, { activeConnections: 3 })
  expect((await remove('a', 'b')).failed).toEqual(new Map())
  expect(await serversOf(kernel)).toEqual({ [SERVER]: 'rr|10.180.0.1:8080*0 10.180.0.2:8080*0' })
  expect(await membersOf(kernel, 'NPVS-4-SERVICES')).toEqual([])
  expect(await membersOf(kernel, 'NPVS-4-LEAVING')).toEqual(['172.30.0.1,tcp:80'])
  expect(await look()).toEqual([])
  await pass(kernel, 5)
  expect(Object.keys(await serversOf(kernel))).toEqual([SERVER])
  kernel.ipvs.setConnections(VIP, POD, {})
  await pass(kernel, 2)
  expect(await serversOf(kernel)).toEqual({})
  expect(await membersOf(kernel, 'NPVS-4-LEAVING')).toEqual([])
  stop()
})

test('a Service whose point LEAVING refuses goes at once: no set would record it as ours', async () => {
  const { sync, remove, kernel } = fakeIpvsNode()
  await sync(service('a', '172.30.0.1'), service('b', '172.30.0.2'))
  kernel.ipvs.setConnections(VIP, POD, { activeConnections: 1 })
  kernel.sets.refuse((command) => command.do === 'add' && command.name === 'NPVS-4-LEAVING')
  await remove('a')
  expect(Object.keys(await serversOf(kernel))).toEqual(['4/tcp/172.30.0.2:80'])
})

test('a Service that comes back meanwhile finds its connections', async () => {
  const { sync, remove, kernel, mode, look } = fakeIpvsNode()
  await sync(service('a', '172.30.0.1'))
  kernel.ipvs.setConnections(VIP, POD, { activeConnections: 1 })
  await remove('a')
  kernel.ipvs.runs.length = 0
  await sync(service('a', '172.30.0.1'))
  expect(kernel.ipvs.runs.flat().map(({ do: what }) => what)).toEqual(['setServer', 'setServer'])
  expect(await membersOf(kernel, 'NPVS-4-LEAVING')).toEqual([])
  expect(mode.draining).toBe(0)
  expect(await look()).toEqual([])
})

test('what a former run left draining is drained on, and its way goes with it', async () => {
  const { sync, remove, kernel } = fakeIpvsNode()
  await sync(service('a', '172.30.0.1'))
  kernel.ipvs.setConnections(VIP, POD, { activeConnections: 1 })
  await remove('a')
  const fresh = fakeIpvsNode(kernel)
  await fresh.look()
  await fresh.sync()
  expect((await serversOf(kernel))[SERVER]).toBe('rr|10.180.0.1:8080*0 10.180.0.2:8080*0')
  expect(fresh.mode.draining).toBe(2)
  const stop = fresh.mode.watch(() => {})
  await pass(kernel, 900)
  expect(await serversOf(kernel)).toEqual({})
  expect(await membersOf(kernel, 'NPVS-4-LEAVING')).toEqual([])
  stop()
})

test('members of LEAVING for virtual servers that are gone are deleted', async () => {
  const { sync, remove, kernel } = fakeIpvsNode()
  await sync(service('a', '172.30.0.1'))
  kernel.ipvs.setConnections(VIP, POD, { activeConnections: 1 })
  await remove('a')
  await kernel.ipvs.run([{ do: 'deleteService', id: VIP }])
  const fresh = fakeIpvsNode(kernel)
  await fresh.look()
  expect(await membersOf(kernel, 'NPVS-4-LEAVING')).toEqual([])
  await kernel.ipvs.run(foreignAt(VIP))
  await fresh.look()
  await fresh.sync()
  expect((await serversOf(kernel))[SERVER]).toBe(FOREIGN_TEXT)
})

test('an emptied Service that is deleted later leaves no way behind', async () => {
  const { sync, kernel } = fakeIpvsNode()
  await sync(service('a', '172.30.0.1'))
  kernel.ipvs.setConnections(VIP, POD, { activeConnections: 1 })
  await sync(service('a', '172.30.0.1', []))
  expect(await membersOf(kernel, 'NPVS-4-LEAVING')).toEqual(['172.30.0.1,tcp:80'])
  kernel.ipvs.setConnections(VIP, POD, {})
  const fresh = fakeIpvsNode(kernel)
  await fresh.look()
  await fresh.sync(service('a', '172.30.0.1', []))
  await fresh.remove('a')
  expect(await serversOf(kernel)).toEqual({})
  expect(await membersOf(kernel, 'NPVS-4-LEAVING')).toEqual([])
})

test('connections that took the short circuit keep their way when their Service goes', async () => {
  const { sync, remove, kernel, mode } = fakeIpvsNode()
  const external = frontend({ kind: 'externalIP', ip: ip('5.6.7.8'), ...local })
  const one = service('shop/a:http/TCP/4', '172.30.0.1', ['10.180.0.1'], { frontends: [external] })
  await sync(one)
  const [key = ''] = Object.keys(await serversOf(kernel))
  const mark = { family: 4, mark: Number(key.slice('4/mark/'.length)) } as const
  kernel.ipvs.setConnections(mark, POD, { activeConnections: 1 })
  await remove(one.id)
  expect(await serversOf(kernel)).toEqual({ [key]: 'rr|10.180.0.1:8080*0' })
  expect(await membersOf(kernel, 'NPVS-4-LEAVING')).toEqual(['5.6.7.8,tcp:80'])
  const fresh = fakeIpvsNode(kernel)
  await fresh.look()
  await fresh.sync()
  expect(await membersOf(kernel, 'NPVS-4-LEAVING')).toEqual(['5.6.7.8,tcp:80'])
  kernel.ipvs.setConnections(mark, POD, {})
  const stop = fresh.mode.watch(() => {})
  await pass(kernel, 2)
  expect(await serversOf(kernel)).toEqual({})
  expect(await membersOf(kernel, 'NPVS-4-LEAVING')).toEqual([])
  expect(mode.name).toBe('ipvs')
  stop()
})
