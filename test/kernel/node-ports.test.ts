import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Deployment, deploy } from '../support/flows/deploy.ts'
import { expectFlow } from '../support/flows/expect-flow.ts'
import type { LabFlow } from '../support/flows/lab-flow.ts'
import { backendProgram, type ProxyConfig } from '../support/lab/daemon-config.ts'
import { useLab } from '../support/lab/use-lab.ts'

const V4: Deployment = {
  key: 'ns/v4',
  clusterIP: '172.30.23.1',
  endpoints: [{ ip: '10.180.2.1', node: 'far' }],
  ports: [
    { name: 'tcp', port: 80, protocol: 'TCP', nodePort: 30080 },
    { name: 'udp', port: 53, protocol: 'UDP', nodePort: 30053 },
  ],
  spec: { type: 'NodePort' },
}
const V6: Deployment = {
  ...V4,
  key: 'ns/v6',
  clusterIP: 'fd00:172:30::23:1',
  endpoints: [{ ip: 'fd00:10:2::1', node: 'far' }],
}
const SERVED_V4 = { outcome: 'deliver', endpoints: ['10.180.2.1:80'], masquerade: true } as const
const SERVED_V6 = {
  outcome: 'deliver',
  endpoints: ['[fd00:10:2::1]:80'],
  masquerade: true,
} as const
const PASSED = { outcome: 'unhandled' } as const

type Row = readonly [dst: string, expect: LabFlow['expect']]

const CASES: readonly {
  readonly what: string
  readonly config: ProxyConfig
  readonly rows: readonly Row[]
}[] = [
  {
    what: 'every address',
    config: {},
    rows: [
      ['192.168.0.2', SERVED_V4],
      ['192.168.1.2', SERVED_V4],
      ['192.168.99.11', SERVED_V4],
      ['2001:db8::1', SERVED_V6],
      ['2001:db8:1::2', SERVED_V6],
    ],
  },
  {
    what: 'nodePortAddresses of one network per family',
    config: { nodePortAddresses: ['192.168.1.0/24', '2001:db8:1::/64'] },
    rows: [
      ['192.168.0.2', PASSED],
      ['192.168.1.2', SERVED_V4],
      ['2001:db8::1', PASSED],
      ['2001:db8:1::2', SERVED_V6],
    ],
  },
  {
    what: 'nodePortAddresses of one family',
    config: { nodePortAddresses: ['192.168.0.0/24'] },
    rows: [
      ['192.168.0.2', SERVED_V4],
      ['192.168.1.2', PASSED],
    ],
  },
  {
    what: 'the primary addresses',
    config: { nodePortAddresses: ['primary'] },
    rows: [
      ['192.168.0.2', SERVED_V4],
      ['192.168.1.2', PASSED],
      ['2001:db8::1', SERVED_V6],
      ['2001:db8:1::2', PASSED],
    ],
  },
]

describe.each(CASES)('node ports on $what', ({ config, rows }) => {
  const lab = useLab({ config })
  beforeAll(async () => {
    await deploy(lab(), V4)
    await deploy(lab(), V6)
  })

  test.each(rows)('%s: $outcome', (dst, expect) => {
    const [src, own] = dst.includes(':')
      ? ['2600:5200::1', '2001:db8::1']
      : ['203.0.113.2', '192.168.0.2']
    return expectBoth(src, own, dst, expect)
  })

  async function expectBoth(src: string, own: string, dst: string, expect: LabFlow['expect']) {
    await expectFlow(lab(), { from: 'external', src, dst, dport: 30080, expect })
    await expectFlow(lab(), { from: 'node', src: own, dst, dport: 30080, expect })
  }
})

describe('with the defaults', () => {
  const lab = useLab()
  beforeEach(async () => {
    await lab().reset()
    await deploy(lab(), V4)
  })

  test('loopback is not served', () =>
    expectFlow(lab(), {
      from: 'localhost',
      src: '127.0.0.1',
      dst: '127.0.0.1',
      dport: 30080,
      expect: PASSED,
    }))

  test('UDP is served', () =>
    expectFlow(lab(), {
      from: 'external',
      src: '203.0.113.2',
      proto: 'UDP',
      dst: '192.168.0.2',
      dport: 30053,
      expect: { outcome: 'deliver', endpoints: ['10.180.2.1:53'], masquerade: true },
    }))

  test('a port number of the other protocol is not captured', () =>
    expectFlow(lab(), {
      from: 'external',
      src: '203.0.113.2',
      proto: 'UDP',
      dst: '192.168.0.2',
      dport: 30080,
      expect: PASSED,
    }))

  test('a packet that the node only forwards is not captured', () =>
    expectFlow(lab(), {
      from: 'pod',
      src: '10.0.0.2',
      dst: '198.51.100.20',
      dport: 30080,
      expect: PASSED,
    }))

  test('an address that the node gets later is served', async () => {
    await lab().node.namespace.ip(['addr add 192.168.77.7/32 dev eth0'])
    const flow = {
      from: 'external',
      src: '203.0.113.2',
      dst: '192.168.77.7',
      dport: 30080,
    } as const
    await expectFlow(lab(), { ...flow, expect: SERVED_V4, retrySeconds: 10 })
    await lab().node.namespace.ip(['addr del 192.168.77.7/32 dev eth0'])
  })

  test('a local listener on the port is no failure: the Service wins', async () => {
    const listener = { protocol: 'TCP', ip: '0.0.0.0', port: 30081, name: 'local' } as const
    await lab().node.agent.call('listen', listener)
    await deploy(lab(), { ...V4, ports: [{ name: '', port: 80, nodePort: 30081 }] })
    const [outcome] = await lab().outside.agent.call('connect', {
      protocol: 'TCP',
      source: '203.0.113.2',
      destination: '192.168.0.2',
      port: 30081,
    })
    expect(outcome).toMatchObject({ kind: 'answered', name: '10.180.2.1:80' })
  })

  test('answers to what the node sends from the port on behalf of others pass', async () => {
    const { node } = lab()
    const rule = '-p tcp -s 10.0.0.2 -d 10.180.2.1 -j SNAT --to-source 192.168.0.2:30080'
    const change = (how: '-I' | '-D') =>
      node.namespace.exec([
        backendProgram('iptables'),
        '-w',
        '-t',
        'nat',
        how,
        'POSTROUTING',
        ...rule.split(' '),
      ])
    const connection = { source: '10.0.0.2', destination: '10.180.2.1', port: 80 }
    await change('-I')
    const outcomes = await lab().connect('pod', connection)
    await change('-D')
    expect(outcomes).toEqual([
      { kind: 'answered', name: '10.180.2.1:80', peer: '192.168.0.2:30080' },
    ])
  })
})
