import { beforeAll, expect, test } from 'vitest'
import { deployAll, objectsOf } from '../../support/flows/deploy.ts'
import { nodeCommand } from '../../support/inspection/node-command.ts'
import { sumOf } from '../../support/lab/metrics.ts'
import { NODE_NAME } from '../../support/lab/plan.ts'
import { useLab } from '../../support/lab/use-lab.ts'

/** What the kernel counts of connections, on each way through the node. */
const CONFIG = { mode: 'nftables', nftables: { trafficCounters: true } } as const
const lab = useLab({ config: CONFIG })

const POD = { source: '10.0.0.2', destination: '172.30.64.1', port: 80 } as const
const WAYS = {
  'from a pod': ['pod', POD],
  'from the node': ['node', { ...POD, source: '192.168.0.2' }],
  'from outside, by a node port': [
    'outside',
    { source: '203.0.113.2', destination: '192.168.0.2', port: 30_081 },
  ],
  'to a server on the node itself': [
    'outside',
    { source: '203.0.113.2', destination: '192.168.0.2', port: 30_082 },
  ],
  'from the node to a server on itself': [
    'node',
    { source: '192.168.0.2', destination: '172.30.64.2', port: 80 },
  ],
  'of UDP': ['pod', { ...POD, protocol: 'UDP', destination: '172.30.64.3', port: 53 }],
  'of IPv6': ['pod', { source: 'fd00:10::2', destination: 'fd00:30::64', port: 80 }],
  'of a pod with itself': ['pod', { ...POD, source: '10.180.0.1' }],
} as const
const SET = ['ip', 'node-proxy', 'connections'] as const
const OWNERS: Readonly<Record<keyof typeof WAYS, string>> = {
  'from a pod': 'shop/web',
  'from the node': 'shop/web',
  'from outside, by a node port': 'shop/web',
  'to a server on the node itself': 'shop/host',
  'from the node to a server on itself': 'shop/host',
  'of UDP': 'shop/dns',
  'of IPv6': 'shop/six',
  'of a pod with itself': 'shop/web',
}
const WEB = {
  key: 'shop/web',
  clusterIP: POD.destination,
  endpoints: [{ ip: '10.180.0.1' }],
  ports: [{ name: '', port: 80, nodePort: 30_081 }],
  spec: { type: 'NodePort' },
} as const
const HOST = {
  key: 'shop/host',
  clusterIP: '172.30.64.2',
  endpoints: [{ ip: '192.168.0.2', node: NODE_NAME }],
  ports: [{ name: '', port: 80, nodePort: 30_082, targetPort: 8_089 }],
  spec: { type: 'NodePort' },
} as const

beforeAll(async () => {
  await lab().node.agent.call('listen', {
    protocol: 'TCP',
    ip: '192.168.0.2',
    port: 8_089,
    name: 'host',
  })
  await lab().api.apply(...objectsOf(HOST))
  await deployAll(lab(), [
    WEB,
    {
      key: 'shop/dns',
      clusterIP: '172.30.64.3',
      endpoints: [{ ip: '10.180.0.3' }],
      ports: [{ name: '', port: 53, protocol: 'UDP' }],
    },
    { key: 'shop/six', clusterIP: 'fd00:30::64', endpoints: [{ ip: 'fd00:180::1' }] },
  ])
})

/** Connections of a Service, and of each of its backends. */
async function counted(service: string): Promise<readonly number[]> {
  const { code, stdout, stderr } = await nodeCommand(lab(), 'traffic', service, '-o', 'json')
  if (code !== 0) throw new Error(stderr)
  const { total, backends } = JSON.parse(stdout)
  const traffic = backends.map((one: { traffic: object }) => one.traffic)
  return [total, ...traffic].map(({ connections }) => Number(connections))
}

async function connect(way: keyof typeof WAYS, attempts: number): Promise<void> {
  const [place, to] = WAYS[way]
  const outcomes = await lab().connect(place, { ...to, attempts, timeoutMs: 5_000 })
  expect(outcomes.map(({ kind }) => kind)).toEqual(Array(attempts).fill('answered'))
}

/** A reading serves for a second. */
const soon = (service: string) => expect.poll(() => counted(service))

test.each(Object.keys(WAYS) as (keyof typeof WAYS)[])(
  'each connection %s is counted once, however many packets it has',
  async (way) => {
    const service = OWNERS[way]
    const before = await counted(service)
    expect(before).toHaveLength(2)
    await connect(way, 7)
    await soon(service).toEqual(before.map((count) => count + 7))
  },
)

test('a client stays at its server on the node itself, which counts all of its connections', async () => {
  const servers = ['192.168.0.2', '192.168.1.2'].map((ip) => ({ ip, node: NODE_NAME }))
  for (const { ip } of servers) {
    const server = { protocol: 'TCP', ip, port: 8_090, name: ip } as const
    await lab().node.agent.call('listen', server)
  }
  const sticky = {
    key: 'shop/sticky',
    clusterIP: '172.30.64.4',
    endpoints: servers,
    ports: [{ name: '', port: 80, nodePort: 30_083, targetPort: 8_090 }],
    spec: { type: 'NodePort', sessionAffinity: 'ClientIP' },
  } as const
  await lab().api.apply(...objectsOf(sticky))
  await lab().daemon.synced()
  const to = { source: '203.0.113.2', destination: '192.168.0.2', port: 30_083 }
  const outcomes = await lab().connect('outside', { ...to, attempts: 20 })
  expect(new Set(outcomes.map((one) => one.kind === 'answered' && one.name)).size).toBe(1)
  await expect
    .poll(async () => (await counted('shop/sticky')).toSorted((a, b) => a - b))
    .toEqual([0, 20, 20])
})

test('a restart of the daemon, and what becomes of other Services, take nothing', async () => {
  const before = await counted('shop/web')
  expect(before[0]).toBeGreaterThan(0)
  await lab().daemon.stop()
  await connect('from a pod', 3)
  await lab().daemon.start({ config: CONFIG })
  await lab().daemon.synced()
  expect(await counted('shop/web')).toEqual(before.map((count) => count + 3))
  await lab().api.remove('Service', 'shop/dns')
  await lab().daemon.synced()
  expect(await counted('shop/web')).toEqual(before.map((count) => count + 3))
})

test('a Service that gets the addresses of one that is gone begins at 0', async () => {
  await lab().api.remove('Service', WEB.key)
  await lab().daemon.synced()
  const set = await lab().node.namespace.exec(['nft', 'list', 'set', ...SET])
  expect(set).toContain('192.168.0.2 . tcp . 30082 . ')
  expect(set).not.toContain(`${POD.destination} . `)
  expect(set).not.toContain(' . tcp . 30081 . ')
  await deployAll(lab(), [{ ...WEB, key: 'shop/next' }])
  expect(await counted('shop/next')).toEqual([0, 0])
  await connect('from a pod', 2)
  await soon('shop/next').toEqual([2, 2])
})

test('what packets and other programs put into the set is nothing to repair; rules that count are', async () => {
  const repairs = async () => sumOf(await lab().daemon.metrics(), 'nodeproxy_drift_repairs_total')
  const nft = (...words: readonly string[]) => lab().node.namespace.exec(['nft', ...words])
  const before = await repairs()
  await nft('add', 'element', ...SET, '{ 192.0.2.9 . tcp . 9 . 192.0.2.8 . 9 }')
  await nft('flush', 'set', ...SET)
  // What vanished was read before, so that the total goes on.
  await soon('shop/next').toEqual([2, 0])
  await nft('flush', 'chain', 'ip', 'node-proxy', 'translated')
  await expect.poll(repairs).toBe(before + 1)
  await connect('from a pod', 1)
  await soon('shop/next').toEqual([3, 1])
})
