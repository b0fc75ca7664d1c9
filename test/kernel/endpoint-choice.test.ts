import { beforeEach, describe, test } from 'vitest'
import { deploy } from '../support/flows/deploy.ts'
import { expectFlow } from '../support/flows/expect-flow.ts'
import type { EndpointSpec, PortSpec } from '../support/lab/objects.ts'
import { service, slice } from '../support/lab/objects.ts'
import { useLab } from '../support/lab/use-lab.ts'

/** Which endpoints a packet may reach, by their conditions, hints, slices and named ports. */
const VIP = '172.30.26.1'

const far = (n: number, more: Partial<EndpointSpec> = {}): EndpointSpec => ({
  ip: `10.180.2.${n}`,
  node: 'far',
  ...more,
})
const near = (n: number, more: Partial<EndpointSpec> = {}): EndpointSpec => ({
  ip: `10.180.0.${n}`,
  ...more,
})
const LEAVING = { ready: false, serving: true, terminating: true }
const DEAD = { ready: false, serving: false, terminating: true }

describe('conditions', () => {
  const lab = useLab()
  beforeEach(() => lab().reset())

  test.each<[string, readonly EndpointSpec[], readonly string[]]>([
    ['ready ones only', [far(1), far(2, { ready: false })], ['10.180.2.1:80']],
    ['not terminating ones while one is ready', [far(1), far(2, LEAVING)], ['10.180.2.1:80']],
    [
      'terminating ones that still serve, when none is ready',
      [far(1, LEAVING), far(2, DEAD)],
      ['10.180.2.1:80'],
    ],
    ['local and remote ones alike', [near(1), far(1)], ['10.180.0.1:80', '10.180.2.1:80']],
  ])('%s', async (_, endpoints, expected) => {
    await deploy(lab(), { key: 'ns/chosen', clusterIP: VIP, endpoints })
    await expectFlow(lab(), {
      from: 'pod',
      src: '10.0.0.2',
      dst: VIP,
      dport: 80,
      expect: { outcome: 'deliver', endpoints: expected },
    })
  })

  test('none that serves is as none at all: refused', async () => {
    await deploy(lab(), { key: 'ns/chosen', clusterIP: VIP, endpoints: [far(1, DEAD)] })
    const flow = { from: 'pod', src: '10.0.0.2', dst: VIP, dport: 80 } as const
    await expectFlow(lab(), { ...flow, expect: { outcome: 'reject' } })
  })

  test('external Local: local ones that leave serve on while no local one is ready', async () => {
    await deploy(lab(), {
      key: 'ns/chosen',
      clusterIP: VIP,
      endpoints: [near(1, LEAVING), far(1)],
      spec: { type: 'LoadBalancer', externalTrafficPolicy: 'Local' },
      ingress: [{ ip: '1.2.3.26' }],
    })
    const flow = { from: 'external', src: '203.0.113.2', dst: '1.2.3.26', dport: 80 } as const
    const deliver = { outcome: 'deliver', endpoints: ['10.180.0.1:80'], masquerade: false } as const
    await expectFlow(lab(), { ...flow, expect: deliver })
  })

  test('slices that name another number for a port are each right for their own endpoints', async () => {
    const ports: PortSpec[] = [{ name: 'web', port: 80, protocol: 'TCP' }]
    const at = (port: number): PortSpec[] => [{ name: 'web', port, protocol: 'TCP' }]
    await lab().serve({ ip: '10.180.2.1', local: false, ports: [{ protocol: 'TCP', port: 8080 }] })
    await lab().serve({ ip: '10.180.2.2', local: false, ports: [{ protocol: 'TCP', port: 9090 }] })
    await lab().api.apply(
      service('ns/chosen', { clusterIP: VIP, ports }),
      slice('ns/chosen', [far(1)], { ports: at(8080), suffix: 'a' }),
      slice('ns/chosen', [far(2)], { ports: at(9090), suffix: 'b' }),
    )
    await lab().daemon.synced()
    const endpoints = ['10.180.2.1:8080', '10.180.2.2:9090']
    const flow = { from: 'pod', src: '10.0.0.2', dst: VIP, dport: 80 } as const
    await expectFlow(lab(), { ...flow, expect: { outcome: 'deliver', endpoints } })
  })
})

describe('both families at once', () => {
  const lab = useLab()

  test('one Service serves each family from its own slice', async () => {
    const V6 = 'fd00:172:30::26:1'
    await lab().serve({ ip: '10.180.2.1', local: false, ports: [{ protocol: 'TCP', port: 80 }] })
    await lab().serve({ ip: 'fd00:10:2::1', local: false, ports: [{ protocol: 'TCP', port: 80 }] })
    await lab().api.apply(
      service('ns/dual', {
        clusterIP: VIP,
        clusterIPs: [VIP, V6],
        ipFamilies: ['IPv4', 'IPv6'],
        ports: [{ port: 80, protocol: 'TCP', nodePort: 30080 }],
        type: 'NodePort',
      }),
      slice('ns/dual', [far(1)], { suffix: 'v4' }),
      slice('ns/dual', [{ ip: 'fd00:10:2::1', node: 'far' }], { suffix: 'v6' }),
    )
    await lab().daemon.synced()
    const v4 = { outcome: 'deliver', endpoints: ['10.180.2.1:80'] } as const
    const v6 = { outcome: 'deliver', endpoints: ['[fd00:10:2::1]:80'] } as const
    await expectFlow(lab(), { from: 'pod', src: '10.0.0.2', dst: VIP, dport: 80, expect: v4 })
    await expectFlow(lab(), { from: 'pod', src: 'fd00:10::2', dst: V6, dport: 80, expect: v6 })
    const port = { dport: 30080 }
    const outside = { from: 'external', ...port } as const
    await expectFlow(lab(), { ...outside, src: '203.0.113.2', dst: '192.168.0.2', expect: v4 })
    await expectFlow(lab(), { ...outside, src: '2600:5200::1', dst: '2001:db8::1', expect: v6 })
  })
})

describe('a node in zone-z', () => {
  const lab = useLab({ nodeLabels: { 'topology.kubernetes.io/zone': 'zone-z' } })
  beforeEach(() => lab().reset())

  test('ignores zone hints when no endpoint is meant for its zone', async () => {
    const endpoints = [far(1), far(2)]
    await deploy(lab(), { key: 'ns/hinted', clusterIP: VIP, endpoints })
    const hints = (zone: string) => ({ forZones: [{ name: zone }] })
    await lab().api.patch('EndpointSlice', 'ns/hinted-1', {
      endpoints: endpoints.map(({ ip }, i) => ({
        addresses: [ip],
        conditions: { ready: true },
        nodeName: 'far',
        hints: hints(`zone-${i}`),
      })),
    })
    await lab().daemon.synced()
    const all = { outcome: 'deliver', endpoints: ['10.180.2.1:80', '10.180.2.2:80'] } as const
    const flow = { from: 'pod', src: '10.0.0.2', dst: VIP, dport: 80 } as const
    await expectFlow(lab(), { ...flow, expect: all })
  })
})
