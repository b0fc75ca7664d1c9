import { beforeAll, expect, test } from 'vitest'
import { deployAll } from '../../support/flows/deploy.ts'
import { sumOf } from '../../support/lab/metrics.ts'
import { reconfigure } from '../../support/lab/reconfigure.ts'
import { useLab } from '../../support/lab/use-lab.ts'

/** What the kernel counts of each Service, and the metrics that show it. */
const ON = { mode: 'nftables', nftables: { trafficCounters: true } } as const
const lab = useLab({ config: ON })

const POD = { protocol: 'TCP', source: '10.0.0.2', destination: '172.30.62.1', port: 80 } as const
const OUTSIDE = {
  protocol: 'TCP',
  source: '203.0.113.2',
  destination: '192.168.0.2',
  port: 30080,
} as const

beforeAll(() =>
  deployAll(lab(), [
    {
      key: 'shop/web',
      clusterIP: POD.destination,
      endpoints: [{ ip: '10.180.0.1' }],
      ports: [{ name: '', port: 80, nodePort: OUTSIDE.port }],
      spec: { type: 'NodePort' },
    },
    { key: 'shop/quiet', clusterIP: '172.30.62.2', endpoints: [{ ip: '10.180.0.2' }] },
  ]),
)

/** Packets and bytes of one Service. */
async function counted(service_name: string, direction: 'in' | 'out') {
  const samples = await lab().daemon.metrics()
  const labels = { service_namespace: 'shop', service_name, direction }
  return [
    sumOf(samples, 'nodeproxy_service_packets_total', labels),
    sumOf(samples, 'nodeproxy_service_bytes_total', labels),
  ] as const
}

test.each([
  ['pod', POD],
  ['outside', OUTSIDE],
] as const)(
  'a connection from %s is counted in both directions, by its Service',
  async (place, to) => {
    const before = await Promise.all([counted('web', 'in'), counted('web', 'out')])
    const [outcome] = await lab().connect(place, to)
    expect(outcome).toMatchObject({ kind: 'answered' })
    for (const [index, direction] of (['in', 'out'] as const).entries()) {
      const [packetsBefore, bytesBefore] = before[index] ?? [0, 0]
      // A reading serves scrapes for a second. At least what opens a connection.
      await expect
        .poll(async () => (await counted('web', direction))[0])
        .toBeGreaterThanOrEqual(packetsBefore + 2)
      const [packets, bytes] = await counted('web', direction)
      // Each packet has 40 bytes of headers or more.
      expect(packets - packetsBefore).toBeLessThan(20)
      expect(bytes - bytesBefore).toBeGreaterThanOrEqual(40 * (packets - packetsBefore))
    }
    expect(await counted('quiet', 'in')).toEqual([0, 0])
  },
)

test('an endpoint that is replaced leaves the counters as they are', async () => {
  const before = await counted('web', 'in')
  expect(before[0]).toBeGreaterThan(0)
  await deployAll(lab(), [
    { key: 'shop/quiet', clusterIP: '172.30.62.2', endpoints: [{ ip: '10.180.0.3' }] },
  ])
  // The last packets of a connection may come after the first reading.
  expect((await counted('web', 'in'))[0]).toBeGreaterThanOrEqual(before[0])
})

test('without the setting nothing is counted, and the kernel has no counters', async () => {
  await reconfigure(lab(), { mode: 'nftables' })
  const sets = () => lab().node.namespace.exec(['nft', 'list', 'sets', 'ip'])
  await expect.poll(sets).not.toContain('traffic-in')
  expect(await counted('web', 'in')).toEqual([0, 0])
})
