import { expect, test } from 'vitest'
import {
  codesOf,
  FOREIGN_SERVER,
  fakeIpvsNode,
  fakeKernel,
  membersOf,
  SERVER,
  SERVER_KEY,
  serversOf,
  service,
  stateOf,
  VIP,
} from '../../../test/support/modes/fake-ipvs-node.ts'
import type { EntryId } from '../../forwarding/entry.ts'
import { NodeProxyError } from '../../lib/error.ts'
import type { ObjectKey } from '../mode.ts'
import { frontend, ip, settings } from '../testing/mode-fixtures.ts'

const local = { pool: 'local', shortCircuit: true, masquerade: 'onNode' } as const

test('what was written is what is observed', async () => {
  const { look, tracker, sync, kernel } = fakeIpvsNode(fakeKernel(), {
    netfilter: settings({ localhostNodePorts: true, dropMartians: true }),
  })
  const nodePort = frontend({ kind: 'nodePort', ip: 'node', port: 30_080, masquerade: 'always' })
  const external = frontend({ kind: 'externalIP', ip: ip('5.6.7.8'), ...local })
  const { failed } = await sync(
    service('a', '172.30.0.1'),
    service('b', '172.30.0.2', [], { frontends: [nodePort] }),
    service('c', '172.30.0.3', ['10.180.0.9'], { frontends: [external, nodePort] }),
  )
  expect(failed).toEqual(new Map())
  expect(tracker.isSettled).toBe(true)
  expect(await look()).toEqual([])
  expect(kernel.iptables.dump()).toContain('-A PREROUTING -j NPVS-ROUTE')
  expect(await kernel.routes.list()).toHaveLength(2)
})

test('some objects, observed by name, are as they are', async () => {
  const { mode, sync, kernel } = fakeIpvsNode()
  await sync(service('a', '172.30.0.1'))
  const all = await mode.observe()
  const keys = [
    SERVER_KEY,
    'member/NPVS-4-SERVICES/172.30.0.1,tcp:80',
    'route/4',
    '4/mangle/NPVS-TAKE',
    'set/NPVS-4-VIPS',
  ] as ObjectKey[]
  const some = await mode.observe(keys)
  for (const key of keys) expect([key, some.get(key)]).toEqual([key, all.get(key)])
  await kernel.ipvs.run([{ do: 'deleteService', id: VIP }])
  expect((await mode.observe([SERVER_KEY])).has(SERVER_KEY)).toBe(false)
})

test('one changed backend costs two commands', async () => {
  const { sync, kernel } = fakeIpvsNode(fakeKernel(), { drain: { tcp: 0, udp: 0, sctp: 0 } })
  await sync(...Array.from({ length: 50 }, (_, n) => service(`s${n}`, `172.30.1.${n}`)))
  kernel.ipvs.runs.length = 0
  kernel.iptables.texts.length = 0
  await sync(service('s7', '172.30.1.7', ['10.180.0.1', '10.180.0.3']))
  const commands = kernel.ipvs.runs.flat().map(({ do: what }) => what)
  expect(commands).toEqual(['addServer', 'deleteServer'])
  expect(kernel.iptables.texts).toEqual([])
})

test('a fresh daemon adopts what is right and removes what is stale', async () => {
  const { sync, kernel } = fakeIpvsNode()
  await sync(service('a', '172.30.0.1'), service('gone', '172.30.0.9'))
  kernel.ipvs.runs.length = 0
  kernel.iptables.texts.length = 0
  const fresh = fakeIpvsNode(kernel)
  fresh.mode.program.replace('a' as EntryId, service('a', '172.30.0.1'))
  await fresh.look()
  await fresh.write()
  expect(kernel.ipvs.runs.flat()).toEqual([
    { do: 'deleteService', id: { ...VIP, ip: '172.30.0.9' } },
  ])
  expect(kernel.iptables.texts).toEqual([])
  expect(await fresh.look()).toEqual([])
  expect(await membersOf(kernel, 'NPVS-4-SERVICES')).toEqual(['172.30.0.1,tcp:80'])
})

test('a route that the kernel refuses holds up nothing else', async () => {
  const { sync, retry, kernel, tracker } = fakeIpvsNode()
  kernel.routes.refusal = new NodeProxyError('NP_KERNEL_ROUTE', 'ip rule: EACCES')
  const { failed } = await sync(service('a', '172.30.0.1'))
  expect(codesOf(failed)).toEqual({ 'route/4': 'NP_KERNEL_ROUTE', 'route/6': 'NP_KERNEL_ROUTE' })
  expect(kernel.iptables.dump()).toContain('NPVS-ROUTE')
  kernel.routes.refusal = undefined
  await retry()
  expect(tracker.isSettled).toBe(true)
})

test('with another masquerade bit the routes for the former one go', async () => {
  const { sync, kernel } = fakeIpvsNode()
  await sync()
  const netfilter = settings({ masqueradeBit: 13 })
  const { sync: write, look, tracker } = fakeIpvsNode(kernel, { netfilter })
  await look()
  await write()
  expect((await kernel.routes.list()).map(({ mark }) => mark)).toEqual([0x1000, 0x1000])
  expect(tracker.isSettled).toBe(true)
  expect(await look()).toEqual([])
})

test('an address on loopback that another process holds is reported, and tried again', async () => {
  const { sync, retry, kernel } = fakeIpvsNode(fakeKernel(), {
    netfilter: settings({ localhostNodePorts: true }),
  })
  kernel.relays.taken.add('tcp/127.0.0.1:30080')
  const nodePort = frontend({ kind: 'nodePort', ip: 'node', port: 30_080 })
  const { failed } = await sync(
    service('a', '172.30.0.1', ['10.180.0.1'], { frontends: [nodePort] }),
  )
  expect(codesOf(failed)).toEqual({ 'relay/tcp/30080': 'NP_KERNEL_RELAY' })
  kernel.relays.taken.clear()
  await retry()
  expect(kernel.relays.list()).toMatchObject([{ target: { ip: '192.0.2.10', port: 30_080 } }])
})

test('what packets need is there before what leads them there, and goes after it', async () => {
  const { sync, mode, kernel } = fakeIpvsNode()
  const order: string[] = []
  const { ipvs, sets, iptables, routes } = kernel
  const noted =
    <A extends readonly unknown[], R>(label: string, work: (...args: A) => R) =>
    (...args: A): R => {
      if (JSON.stringify(args[0]) !== '[]') order.push(label)
      return work(...args)
    }
  ipvs.run = noted('servers', ipvs.run.bind(ipvs))
  sets.run = noted('sets', sets.run.bind(sets))
  iptables.restore = noted('rules', iptables.restore.bind(iptables))
  routes.ensure = noted('routes', routes.ensure.bind(routes))
  await sync(service('a', '172.30.0.1'))
  const steps = order.filter((label, index) => label !== order[index - 1])
  expect(steps).toEqual(['sets', 'servers', 'routes', 'rules'])
  order.length = 0
  await mode.cleanup()
  expect(order.filter((label, index) => label !== order[index - 1])).toEqual([
    'rules',
    'servers',
    'sets',
  ])
})

test('a backend that leaves keeps its connections; none drains where the time is 0', async () => {
  const { sync, kernel, mode, look } = fakeIpvsNode()
  const udp = (pods: readonly string[]) => service('u', '172.30.0.2', pods, { protocol: 'UDP' })
  await sync(service('a', '172.30.0.1'), udp(['10.180.0.1', '10.180.0.2']))
  await sync(service('a', '172.30.0.1', ['10.180.0.2']), udp(['10.180.0.2']))
  expect(await serversOf(kernel)).toEqual({
    [SERVER]: 'rr|10.180.0.1:8080*0 10.180.0.2:8080*1',
    '4/udp/172.30.0.2:80': 'rr|10.180.0.2:8080*1',
  })
  expect(mode.draining).toBe(1)
  expect(await look()).toEqual([])
  await sync(service('a', '172.30.0.1'))
  expect((await serversOf(kernel))[SERVER]).toBe('rr|10.180.0.1:8080*1 10.180.0.2:8080*1')
  expect(mode.draining).toBe(0)
})

test('what another process alters is put right', async () => {
  const { sync, look, kernel } = fakeIpvsNode()
  await sync(service('a', '172.30.0.1'))
  const before = await stateOf(kernel)
  const server = { ...FOREIGN_SERVER, forwarding: 'masquerade' } as const
  await kernel.ipvs.run([{ do: 'addServer', id: VIP, server }])
  await kernel.sets.run([{ do: 'flush', name: 'NPVS-4-VIPS' }])
  kernel.iptables.alter(4, '*mangle\n-F NPVS-TAKE\nCOMMIT\n')
  kernel.routes.foreignRuleFlush(6)
  expect((await look()).map(({ key, kind }) => `${kind} ${key}`).toSorted()).toEqual([
    'altered 4/mangle/NPVS-TAKE',
    `altered ${SERVER_KEY}`,
    'missing member/NPVS-4-VIPS/172.30.0.1',
    'missing route/6',
  ])
  await sync()
  expect(await serversOf(kernel)).toEqual({
    [SERVER]: 'rr|10.180.0.1:8080*1 10.180.0.2:8080*1 10.7.7.7:80*0',
  })
  const fresh = fakeIpvsNode(kernel)
  await fresh.look()
  expect(await look()).toEqual([])
  await kernel.ipvs.run([{ do: 'deleteServer', id: VIP, server }])
  expect(await stateOf(kernel)).toEqual(before)
})

test('timeouts of connections are set once, those that are configured', async () => {
  const { sync, kernel } = fakeIpvsNode(fakeKernel(), { timeouts: { tcp: 0, tcpFin: 30, udp: 0 } })
  await sync(service('a', '172.30.0.1'))
  expect(await kernel.ipvs.timeouts()).toEqual({ tcp: 900, tcpFin: 30, udp: 300 })
  await kernel.ipvs.setTimeouts({ tcpFin: 99 })
  await sync(service('b', '172.30.0.2'))
  expect((await kernel.ipvs.timeouts()).tcpFin).toBe(99)
})
