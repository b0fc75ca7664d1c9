import { beforeAll, describe, expect, test } from 'vitest'
import { deploy } from '../support/flows/deploy.ts'
import { expectFlow } from '../support/flows/expect-flow.ts'
import { ipOf } from '../support/flows/judge.ts'
import type { Sender } from '../support/flows/lab-flow.ts'
import type { ProxyConfig } from '../support/lab/daemon-config.ts'
import { reconfigure } from '../support/lab/reconfigure.ts'
import { useLab } from '../support/lab/use-lab.ts'

/**
 * The source address that an endpoint sees, for every setting that distinguishes the cluster's own pods from
 * other clients. A node process on a secondary address shows that it is really
 * masqueraded: the endpoint sees another address than it sent from. One daemon takes setting after
 * setting.
 */
const lab = useLab()

const ENDPOINTS = [{ ip: '10.180.0.1' }, { ip: '10.180.2.1', node: 'far' }]
const VIP = '172.30.12.1'
const FAR_VIP = '172.30.12.2'

interface Case {
  readonly mode: string
  readonly config: ProxyConfig
  /** Whether a pod of the address is taken for one of this cluster. */
  readonly pods: readonly (readonly [ip: string, isOurs: boolean])[]
  readonly outsideIsMasqueraded: boolean
}

const CASES: readonly Case[] = [
  {
    mode: 'ClusterCIDR',
    config: { detectLocalMode: 'ClusterCIDR', clusterCIDR: '10.0.0.0/8' },
    pods: [
      ['10.0.0.2', true],
      ['172.16.0.2', false],
    ],
    outsideIsMasqueraded: true,
  },
  {
    mode: 'ClusterCIDR without a CIDR',
    config: { detectLocalMode: 'ClusterCIDR', clusterCIDR: '' },
    pods: [
      ['10.0.0.2', true],
      ['172.16.0.2', true],
    ],
    outsideIsMasqueraded: false,
  },
  {
    mode: 'NodeCIDR',
    config: { detectLocalMode: 'NodeCIDR' },
    pods: [
      ['10.180.0.77', true],
      ['10.0.0.2', false],
    ],
    outsideIsMasqueraded: true,
  },
  {
    mode: 'BridgeInterface',
    config: { detectLocalMode: 'BridgeInterface', detectLocal: { bridgeInterface: 'cbr0' } },
    pods: [
      ['10.0.0.2', true],
      ['172.16.0.2', true],
    ],
    outsideIsMasqueraded: true,
  },
  {
    mode: 'InterfaceNamePrefix',
    config: {
      detectLocalMode: 'InterfaceNamePrefix',
      detectLocal: { interfaceNamePrefix: 'cbr' },
    },
    pods: [
      ['10.0.0.2', true],
      ['172.16.0.2', true],
    ],
    outsideIsMasqueraded: true,
  },
  {
    mode: 'masqueradeAll',
    config: { clusterCIDR: '10.0.0.0/8', iptables: { masqueradeAll: true } },
    pods: [['10.0.0.2', false]],
    outsideIsMasqueraded: true,
  },
]

beforeAll(() =>
  deploy(lab(), {
    key: 'ns/who',
    clusterIP: VIP,
    endpoints: ENDPOINTS,
    ports: [{ name: '', port: 80, nodePort: 30080 }],
    spec: { type: 'NodePort' },
  }),
)

describe.each(CASES)('$mode', ({ config, pods, outsideIsMasqueraded }) => {
  beforeAll(() => reconfigure(lab(), config))

  const expectSource = (from: Sender, src: string, masquerade: boolean, dst = VIP, dport = 80) =>
    expectFlow(lab(), {
      from,
      src,
      dst,
      dport,
      // The daemon has taken the setting, and writes its rules.
      retrySeconds: 30,
      expect: { outcome: 'deliver', endpoints: ['10.180.0.1:80', '10.180.2.1:80'], masquerade },
    })

  test.each(pods)('a pod at %s is ours: %s', (ip, isOurs) => expectSource('pod', ip, !isOurs))

  test(`an outside client to the ClusterIP is masqueraded: ${outsideIsMasqueraded}`, () =>
    expectSource('external', '203.0.113.2', outsideIsMasqueraded))

  test('to a node port everyone is masqueraded', async () => {
    await expectSource('external', '203.0.113.2', true, '192.168.0.2', 30080)
    await expectSource('pod', pods[0]?.[0] ?? '', true, '192.168.0.2', 30080)
  })
})

test('a process of the node that sends from a secondary address is masqueraded to the primary one', async () => {
  await reconfigure(lab(), {})
  await deploy(lab(), { key: 'ns/far', clusterIP: FAR_VIP, endpoints: ENDPOINTS.slice(1) })
  const [source, destination] = ['192.168.99.11', FAR_VIP]
  await expectFlow(lab(), {
    from: 'node',
    src: source,
    dst: destination,
    dport: 80,
    retrySeconds: 30,
    expect: { outcome: 'deliver', endpoints: ['10.180.2.1:80'], masquerade: true },
  })
  const [outcome] = await lab().connect('node', { source, destination, port: 80 })
  expect(outcome?.kind === 'answered' && ipOf(outcome.peer)).toBe('192.168.0.2')
})
