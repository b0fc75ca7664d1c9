import { beforeAll, describe, test } from 'vitest'
import { type Deployment, deployAll } from '../support/flows/deploy.ts'
import { expectFlow } from '../support/flows/expect-flow.ts'
import type { LabFlow } from '../support/flows/lab-flow.ts'
import { reconfigure } from '../support/lab/reconfigure.ts'
import { useLab } from '../support/lab/use-lab.ts'

/** What no Service has in a Service range is refused at once; addresses of Services, Pods and the node are not. */
const RANGES = { serviceCIDRs: ['172.30.0.0/16', 'fd00:172:30::/48'] }

const PORTS = [
  { name: 'tcp', port: 80, protocol: 'TCP' },
  { name: 'udp', port: 80, protocol: 'UDP' },
] as const
const V4: Deployment = {
  key: 'ns/v4',
  clusterIP: '172.30.14.1',
  ports: PORTS,
  endpoints: [{ ip: '10.180.0.1' }],
}
const V6: Deployment = {
  key: 'ns/v6',
  clusterIP: 'fd00:172:30::14:1',
  ports: PORTS,
  endpoints: [{ ip: 'fd00:10::1:1' }],
}
/** With an external address in the range that only some clients may use. */
const LIMITED: Deployment = {
  key: 'ns/limited',
  clusterIP: '172.30.14.2',
  ports: PORTS,
  endpoints: V4.endpoints,
  spec: { type: 'LoadBalancer', loadBalancerSourceRanges: ['198.51.100.0/24'] },
  ingress: [{ ip: '172.30.200.1' }],
}

type Case = readonly [LabFlow['from'], string, string, number]
const SENDERS = [
  ['pod', '10.0.0.2', 'fd00:10::2'],
  ['node', '192.168.0.2', '2001:db8::1'],
  ['external', '203.0.113.2', '2600:5200::1'],
] as const

/** An address that no Service has, and a port that the Service of another address does not have. */
const UNSERVED: readonly Case[] = SENDERS.flatMap(([from, v4, v6]) => [
  [from, v4, '172.30.255.9', 80] as const,
  [from, v4, '172.30.14.1', 81] as const,
  [from, v6, 'fd00:172:30::ff:9', 80] as const,
  [from, v6, 'fd00:172:30::14:1', 81] as const,
])
const SERVED: readonly Case[] = SENDERS.flatMap(([from, v4, v6]) => [
  [from, v4, '172.30.14.1', 80] as const,
  [from, v6, 'fd00:172:30::14:1', 80] as const,
])

describe('ranges of the configuration', () => {
  const lab = useLab({ config: RANGES })
  beforeAll(() => deployAll(lab(), [V4, V6, LIMITED]))

  describe.each(['TCP', 'UDP'] as const)('%s', (proto) => {
    test.each(UNSERVED)('%s %s is refused at %s %i', (from, src, dst, dport) =>
      expectFlow(lab(), { from, src, proto, dst, dport, expect: { outcome: 'reject' } }),
    )

    test.each(SERVED)('%s %s is served at %s %i', (from, src, dst, dport) => {
      const endpoints = dst.includes(':') ? ['[fd00:10::1:1]:80'] : ['10.180.0.1:80']
      const deliver = { outcome: 'deliver', endpoints } as const
      return expectFlow(lab(), { from, src, proto, dst, dport, expect: deliver })
    })
  })

  test('a load balancer address in a range meets its own rules, not the refusal', () =>
    expectFlow(lab(), {
      from: 'external',
      src: '203.0.113.2',
      dst: '172.30.200.1',
      dport: 80,
      expect: { outcome: 'drop' },
    }))

  test('an address of a range that this node has answers', async () => {
    const { node } = lab()
    await node.namespace.ip(['addr add 172.30.255.53/32 dev lo'])
    try {
      for (const [from, src] of SENDERS) {
        const healthz = { dst: '172.30.255.53', dport: 10_256 }
        await expectFlow(lab(), { from, src, ...healthz, expect: { outcome: 'accept' } })
      }
    } finally {
      await node.namespace.ip(['addr del 172.30.255.53/32 dev lo'])
    }
  })

  test.each([
    ['nothing is to be refused', { serviceCIDRs: ['none'] }],
    ['they may be those of Pods', { ...RANGES, clusterCIDR: '172.30.255.0/24' }],
  ])('addresses pass on when %s', async (_when, config) => {
    const unused = { from: 'pod', src: '10.0.0.2', dst: '172.30.255.9', dport: 80 } as const
    const becomes = (outcome: 'unhandled' | 'reject') =>
      expectFlow(lab(), { ...unused, retrySeconds: 30, expect: { outcome } })
    await reconfigure(lab(), config)
    await becomes('unhandled')
    await reconfigure(lab(), RANGES)
    await becomes('reject')
  })
})

describe('ranges of ServiceCIDR objects', () => {
  const lab = useLab({ api: 'real' })
  beforeAll(() => deployAll(lab(), [V4, V6]))

  const fromPods = UNSERVED.filter(([from]) => from === 'pod')
  test.each(fromPods)('%s %s is refused at %s %i', (from, src, dst, dport) =>
    expectFlow(lab(), { from, src, dst, dport, expect: { outcome: 'reject' } }),
  )
})
