import { expect, test } from 'vitest'
import {
  type FakeKernel,
  FOREIGN_TEXT,
  fakeIpvsNode,
  fakeKernel,
  foreignAt,
  membersOf,
  POD,
  pass,
  SERVER,
  serversOf,
  service,
  stateOf,
  VIP,
} from '../../../test/support/modes/fake-ipvs-node.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { cidr, frontend, ip } from '../testing/mode-fixtures.ts'

const OTHERS = { ...VIP, ip: ip('172.30.77.77') } as const
const PATIENT = new AbortController().signal

/** A node with a busy and an idle Service, and a foreign virtual server. */
async function serving(kernel: FakeKernel = fakeKernel()) {
  await kernel.ipvs.run(foreignAt(OTHERS))
  const node = fakeIpvsNode(kernel)
  await node.look()
  await node.sync(service('busy', '172.30.0.1'), service('idle', '172.30.0.2'))
  kernel.ipvs.setConnections(VIP, POD, { activeConnections: 2 })
  return node
}

async function expectNothingLeft(kernel: FakeKernel): Promise<void> {
  expect(await serversOf(kernel)).toEqual({ '4/tcp/172.30.77.77:80': FOREIGN_TEXT })
  expect(await kernel.sets.names('')).toEqual([])
  expect(kernel.iptables.dump()).not.toContain('NPVS')
  expect(await kernel.routes.list()).toEqual([])
  expect(kernel.relays.list()).toEqual([])
}

test('nothing new is taken at once; established connections keep their way until they end', async () => {
  const { kernel, mode } = await serving()
  const retired = mode.drainAndCleanup(PATIENT)
  await pass(kernel, 10)
  expect(await serversOf(kernel)).toEqual({
    [SERVER]: 'rr|10.180.0.1:8080*0 10.180.0.2:8080*0',
    '4/tcp/172.30.77.77:80': FOREIGN_TEXT,
  })
  expect(await membersOf(kernel, 'NPVS-4-SERVICES')).toEqual([])
  expect(await membersOf(kernel, 'NPVS-4-LEAVING')).toEqual(['172.30.0.1,tcp:80'])
  expect(kernel.iptables.dump()).toContain('-A PREROUTING -j NPVS-ROUTE')
  expect(mode.draining).toBe(2)
  kernel.ipvs.setConnections(VIP, POD, {})
  await pass(kernel, 2)
  await retired
  await expectNothingLeft(kernel)
})

test('new connections are those of the other mode before the sources that may pass are deleted', async () => {
  const kernel = fakeKernel()
  const { sync, mode } = fakeIpvsNode(kernel)
  const frontends = [frontend({ ip: ip('172.30.0.1'), sourceRanges: [cidr('192.0.2.0/24')] })]
  await sync(service('a', '172.30.0.1', ['10.180.0.1'], { frontends }))
  const run = kernel.sets.run.bind(kernel.sets)
  const deleted: string[] = []
  kernel.sets.run = (commands) => {
    deleted.push(...commands.flatMap((one) => (one.do === 'delete' ? one.name : [])))
    return run(commands)
  }
  await mode.drainAndCleanup(PATIENT)
  expect(deleted.slice(0, 3)).toEqual(['NPVS-4-SERVICES', 'NPVS-4-RANGED', 'NPVS-4-VIPS'])
})

test('connections by the short circuit keep their way as well', async () => {
  const kernel = fakeKernel()
  const { sync, mode } = fakeIpvsNode(kernel)
  const path = { pool: 'local', shortCircuit: true, masquerade: 'onNode' } as const
  const external = frontend({ kind: 'externalIP', ip: ip('5.6.7.8'), ...path })
  await sync(service('shop/a:http/TCP/4', '5.6.7.8', ['10.180.0.1'], { frontends: [external] }))
  const [name = ''] = Object.keys(await serversOf(kernel))
  const mark = { family: 4, mark: Number(name.slice('4/mark/'.length)) } as const
  kernel.ipvs.setConnections(mark, POD, { activeConnections: 1 })
  const retired = mode.drainAndCleanup(PATIENT)
  await pass(kernel, 5)
  expect(await serversOf(kernel)).toEqual({ [name]: 'rr|10.180.0.1:8080*0' })
  expect(await membersOf(kernel, 'NPVS-4-LEAVING')).toEqual(['5.6.7.8,tcp:80'])
  expect(await membersOf(kernel, 'NPVS-4-SHORTCUT')).toEqual([])
  kernel.ipvs.setConnections(mark, POD, {})
  await pass(kernel, 2)
  await retired
  expect(await kernel.sets.names('')).toEqual([])
})

test('time is over at the end of the drain time', async () => {
  const { kernel, mode } = await serving()
  const retired = mode.drainAndCleanup(PATIENT)
  await pass(kernel, 899)
  expect(Object.keys(await serversOf(kernel))).toContain(SERVER)
  await pass(kernel, 2)
  await retired
  await expectNothingLeft(kernel)
})

test('what an earlier run left is found, be it in the middle of leaving', async () => {
  const { kernel, mode } = await serving()
  const stop = new AbortController()
  const given = mode.drainAndCleanup(stop.signal)
  await pass(kernel, 3)
  stop.abort()
  await given
  expect(Object.keys(await serversOf(kernel))).toContain(SERVER)
  kernel.ipvs.setConnections(VIP, POD, {})
  await fakeIpvsNode(kernel).mode.drainAndCleanup(PATIENT)
  await expectNothingLeft(kernel)
})

test('one that was killed before it held a virtual server ends no connection when it is back', async () => {
  const { kernel } = await serving()
  const member = { ip: VIP.ip, protocol: VIP.protocol, port: VIP.port }
  await kernel.sets.run([
    { do: 'add', name: 'NPVS-4-LEAVING', member },
    { do: 'flush', name: 'NPVS-4-SERVICES' },
  ])
  const fresh = fakeIpvsNode(kernel)
  await fresh.look()
  const stop = fresh.mode.watch(() => {})
  await pass(kernel, 2)
  await fresh.sync()
  await pass(kernel, 2)
  expect((await serversOf(kernel))[SERVER]).toBe('rr|10.180.0.1:8080*0 10.180.0.2:8080*0')
  kernel.ipvs.setConnections(VIP, POD, {})
  await pass(kernel, 2)
  expect(await serversOf(kernel)).not.toHaveProperty([SERVER])
  stop()
})

test('one that is wanted back in the middle serves again with the connections it kept', async () => {
  const { kernel, mode } = await serving()
  const stop = new AbortController()
  const given = mode.drainAndCleanup(stop.signal)
  await pass(kernel, 3)
  stop.abort()
  await given
  const fresh = fakeIpvsNode(kernel)
  await fresh.look()
  await fresh.sync(service('busy', '172.30.0.1'), service('idle', '172.30.0.2'))
  expect((await serversOf(kernel))[SERVER]).toBe('rr|10.180.0.1:8080*1 10.180.0.2:8080*1')
  expect(await membersOf(kernel, 'NPVS-4-LEAVING')).toEqual([])
  expect(await fresh.look()).toEqual([])
})

test('a signal that came before it began stops it from doing anything', async () => {
  const { kernel, mode } = await serving()
  const before = await stateOf(kernel)
  await mode.drainAndCleanup(AbortSignal.abort())
  expect(await stateOf(kernel)).toEqual(before)
})

test('a kernel that does not answer is no kernel without virtual servers', async () => {
  const { kernel, mode } = await serving()
  const before = await serversOf(kernel)
  const { ipvs } = kernel
  const services = ipvs.services.bind(ipvs)
  ipvs.services = async () => {
    ipvs.services = services
    throw new NodeProxyError('NP_KERNEL_NETLINK', 'no answer')
  }
  await expect(mode.drainAndCleanup(PATIENT)).rejects.toThrow('no answer')
  expect(await serversOf(kernel)).toEqual(before)
  expect(await membersOf(kernel, 'NPVS-4-SERVICES')).toHaveLength(2)
})

test('a kernel without ip_vs has nothing to leave, and is left as it is', async () => {
  const kernel = fakeKernel()
  kernel.ipvs.failure = new NodeProxyError('NP_KERNEL_IPVS_MISSING', 'this kernel has no ip_vs')
  kernel.iptables.alter(4, '*nat\n:OTHER - [0:0]\n-A PREROUTING -j OTHER\nCOMMIT\n')
  await fakeIpvsNode(kernel).mode.drainAndCleanup(PATIENT)
  expect(kernel.iptables.texts).toEqual([])
  expect(kernel.iptables.dump()).toContain('-A PREROUTING -j OTHER')
})
