import { expect, test } from 'vitest'
import {
  FOREIGN_TEXT,
  fakeIpvsNode,
  fakeKernel,
  foreignAt,
  POD,
  SERVER,
  serversOf,
  service,
  VIP,
} from '../../../test/support/modes/fake-ipvs-node.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { frontend, ip, settings } from '../testing/mode-fixtures.ts'

const OTHERS = { ...VIP, ip: ip('172.30.77.77') } as const
const THEIRS = { '4/tcp/172.30.77.77:80': FOREIGN_TEXT }

async function serving() {
  const kernel = fakeKernel()
  await kernel.ipvs.run(foreignAt(OTHERS))
  await kernel.sets.run([
    { do: 'create', name: 'OTHER', type: { type: 'hash:ip', family: 4, maxElements: 8 } },
  ])
  kernel.iptables.alter(4, '*nat\n:OTHER - [0:0]\n-A PREROUTING -j OTHER\nCOMMIT\n')
  const node = fakeIpvsNode(kernel, { netfilter: settings({ localhostNodePorts: true }) })
  await node.look()
  const nodePort = frontend({ kind: 'nodePort', ip: 'node', port: 30_080 })
  await node.sync(
    service('a', '172.30.0.1'),
    service('b', '172.30.0.2', ['10.180.0.1'], { frontends: [nodePort] }),
  )
  kernel.ipvs.setConnections(VIP, POD, { activeConnections: 2 })
  return node
}

const codeOf = (code: string) => expect.objectContaining({ code }) as Error

test('nothing of ours is left, connections or not, and all of others', async () => {
  const { kernel, mode } = await serving()
  expect(kernel.relays.list()).toHaveLength(1)
  await mode.cleanup()
  expect(await serversOf(kernel)).toEqual(THEIRS)
  expect(await kernel.sets.names('')).toEqual(['OTHER'])
  expect(kernel.iptables.dump()).not.toContain('NPVS')
  expect(kernel.iptables.dump()).toContain('-A PREROUTING -j OTHER')
  expect([await kernel.routes.list(), kernel.relays.list()]).toEqual([[], []])
  await mode.cleanup()
  expect(await serversOf(kernel)).toEqual(THEIRS)
})

test('what an earlier run with other settings left goes too', async () => {
  const { kernel, remove } = await serving()
  await remove('a')
  expect(Object.keys(await serversOf(kernel))).toContain(SERVER)
  const netfilter = settings({ masqueradeBit: 9 })
  await fakeIpvsNode(kernel, { netfilter, nodeAddresses: [] }).mode.cleanup()
  expect(await serversOf(kernel)).toEqual(THEIRS)
  expect([await kernel.sets.names('NPVS-'), await kernel.routes.list()]).toEqual([[], []])
})

test('the sets that say what is ours stay as long as a virtual server does', async () => {
  const { kernel, mode } = await serving()
  const allow = kernel.ipvs.refuse(
    'EPERM',
    (command) => command.do === 'deleteService' && 'ip' in command.id && command.id.ip === VIP.ip,
  )
  await expect(mode.cleanup()).rejects.toThrow(codeOf('NP_IPVS_REFUSED'))
  expect(Object.keys(await serversOf(kernel)).toSorted()).toEqual([SERVER, '4/tcp/172.30.77.77:80'])
  expect(kernel.iptables.dump()).not.toContain('NPVS')
  allow()
  await fakeIpvsNode(kernel).mode.cleanup()
  expect([await serversOf(kernel), await kernel.sets.names('NPVS-')]).toEqual([THEIRS, []])
})

test('a chain or set that a foreign rule needs is reported, and the rest is removed', async () => {
  const { kernel, mode } = await serving()
  kernel.iptables.alter(4, '*nat\n-A OTHER -j NPVS-MASQ\nCOMMIT\n')
  await expect(mode.cleanup()).rejects.toThrow(codeOf('NP_IPTABLES_REFUSED'))
  expect(await serversOf(kernel)).toEqual(THEIRS)
  expect(await kernel.sets.names('NPVS-')).toEqual([])
  kernel.iptables.alter(4, '*nat\n-F OTHER\nCOMMIT\n')
  await mode.cleanup()
  expect(kernel.iptables.dump()).not.toContain('NPVS')

  const again = await serving()
  const { isUsed } = again.kernel.sets
  again.kernel.sets.isUsed = (name) => name === 'NPVS-6-VIPS' || isUsed(name)
  await expect(again.mode.cleanup()).rejects.toThrow(codeOf('NP_IPVS_SET_REFUSED'))
  expect(await again.kernel.sets.names('NPVS-')).toEqual(['NPVS-6-VIPS'])
})

test('without ip_vs, or without sets, there is nothing to remove of that kind', async () => {
  const kernel = fakeKernel()
  kernel.ipvs.failure = new NodeProxyError('NP_KERNEL_IPVS_MISSING', 'this kernel has no ip_vs')
  await fakeIpvsNode(kernel).mode.cleanup()
  kernel.sets.headers = kernel.sets.names = async () => {
    throw new NodeProxyError('NP_KERNEL_IPSET', 'no netfilter netlink')
  }
  await fakeIpvsNode(kernel).mode.cleanup()
  expect(kernel.iptables.texts).toEqual([])
})

test('a kernel that does not answer is reported, and nothing is removed', async () => {
  const { kernel, mode } = await serving()
  kernel.ipvs.failure = new NodeProxyError('NP_KERNEL_NETLINK', 'no answer')
  const names = await kernel.sets.names('')
  await expect(mode.cleanup()).rejects.toThrow('no answer')
  expect(await kernel.sets.names('')).toEqual(names)
})
