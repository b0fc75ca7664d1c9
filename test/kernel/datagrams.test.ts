import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ConnectOutcome } from '../support/agent/protocol.ts'
import { type Deployment, deploy } from '../support/flows/deploy.ts'
import { expectFlow } from '../support/flows/expect-flow.ts'
import type { EndpointSpec } from '../support/lab/objects.ts'
import { readSysctl, writeSysctls } from '../support/lab/sysctl.ts'
import { useLab } from '../support/lab/use-lab.ts'

/**
 * A UDP client that keeps its port keeps its connection tracking entry: it has
 * to be cut when its backend leaves, or the client talks to a dead pod for ever.
 */
const lab = useLab()
beforeEach(() => lab().reset())

const [A, B, C] = [1, 2, 3].map((n) => ({ ip: `10.180.2.${n}`, node: 'far' })) as [
  EndpointSpec,
  EndpointSpec,
  EndpointSpec,
]

function udp(endpoints: readonly EndpointSpec[]): Deployment {
  return {
    key: 'ns/dns',
    clusterIP: '172.30.25.1',
    endpoints,
    ports: [{ name: 'dns', port: 53, protocol: 'UDP', nodePort: 30053 }],
    spec: { type: 'LoadBalancer' },
    ingress: [{ ip: '1.2.3.53' }],
  }
}

const WAYS = [
  ['ClusterIP', 'pod', '10.0.0.2', '172.30.25.1', 53],
  ['ClusterIP, from the node', 'node', '192.168.0.2', '172.30.25.1', 53],
  ['node port', 'external', '203.0.113.2', '192.168.0.2', 30053],
  ['load balancer address', 'external', '203.0.113.2', '1.2.3.53', 53],
] as const

describe.each(WAYS)('%s', (_, from, src, dst, dport) => {
  const expectAnswer = (fixedSourcePort: number, ...names: readonly string[]): Promise<void> =>
    expectFlow(lab(), {
      from,
      src,
      proto: 'UDP',
      dst,
      dport,
      fixedSourcePort,
      retrySeconds: 2,
      expect: { outcome: 'deliver', endpoints: names },
    })

  test('the same client moves on when its endpoint leaves', async () => {
    await deploy(lab(), udp([A]))
    await expectAnswer(9001, '10.180.2.1:53')
    await deploy(lab(), udp([B]))
    await expectAnswer(9001, '10.180.2.2:53')
  })

  test('an empty Service refuses it, and serves it again when an endpoint appears', async () => {
    await deploy(lab(), udp([A]))
    await expectAnswer(9002, '10.180.2.1:53')
    await deploy(lab(), udp([]))
    const refused = { from, src, proto: 'UDP', dst, dport, fixedSourcePort: 9002 } as const
    await expectFlow(lab(), { ...refused, retrySeconds: 2, expect: { outcome: 'reject' } })
    await deploy(lab(), udp([C]))
    await expectAnswer(9002, '10.180.2.3:53')
  })

  test('a client that came before the Service is served when it exists', async () => {
    const place = from === 'external' ? 'outside' : from
    const { agent } = await lab().site(place, src)
    const early = { protocol: 'UDP', source: src, sourcePort: 9003, destination: dst } as const
    const [outcome] = await agent.call('connect', { ...early, port: dport, timeoutMs: 300 })
    expect(outcome?.kind).not.toBe('answered')
    await deploy(lab(), udp([A]))
    await expectAnswer(9003, '10.180.2.1:53')
  })
})

describe('a client whose port is forgotten soon', () => {
  const [SOON, SOON_ANSWERED] = ['', '_stream'].map(
    (state) => `net/netfilter/nf_conntrack_udp_timeout${state}`,
  ) as [string, string]
  let before: readonly [string, string]

  beforeEach(async () => {
    const { agent } = lab().node
    before = [await readSysctl(agent, SOON), await readSysctl(agent, SOON_ANSWERED)]
    await writeSysctls(agent, { [SOON]: 1, [SOON_ANSWERED]: 1 })
  })

  afterEach(() => writeSysctls(lab().node.agent, { [SOON]: before[0], [SOON_ANSWERED]: before[1] }))

  test('is served at another port of the Service as at the first', async () => {
    const ports = [53, 54].map((port) => ({ name: `p${port}`, port, protocol: 'UDP' }) as const)
    await deploy(lab(), { ...udp([A]), ports })
    const query = async (port: number): Promise<ConnectOutcome | undefined> => {
      const ends = { source: '10.0.0.2', sourcePort: 9005, destination: '172.30.25.1', port }
      return (await lab().connect('pod', { protocol: 'UDP', ...ends }))[0]
    }
    expect(await query(53)).toMatchObject({ name: '10.180.2.1:53' })
    const remembered = ['conntrack', '-L', '-p', 'udp', '--orig-port-src', '9005']
    await expect.poll(() => lab().node.namespace.exec(remembered)).toBe('')
    expect(await query(54)).toMatchObject({ name: '10.180.2.1:54' })
  })
})

test('clients of the endpoints that stay keep theirs', async () => {
  await deploy(lab(), udp([A, B, C]))
  const query = async (): Promise<string[]> => {
    const answers: string[] = []
    for (let port = 9100; port < 9130; port++) {
      const [outcome] = await lab().connect('pod', {
        protocol: 'UDP',
        source: '10.0.0.2',
        sourcePort: port,
        destination: '172.30.25.1',
        port: 53,
      })
      answers.push(outcome?.kind === 'answered' ? outcome.name : (outcome?.kind ?? ''))
    }
    return answers
  }
  const before = await query()
  expect(new Set(before).size).toBe(3)
  await deploy(lab(), udp([A, B]))
  const after = await query()
  const stayed = before.flatMap((name, i) => (name === '10.180.2.3:53' ? [] : [[name, after[i]]]))
  expect(stayed.filter(([was, is]) => was !== is)).toEqual([])
  expect(new Set(after)).toEqual(new Set(['10.180.2.1:53', '10.180.2.2:53']))
})

test('a Service that is deleted lets its clients go', async () => {
  await deploy(lab(), udp([A]))
  const flow = {
    from: 'pod',
    src: '10.0.0.2',
    proto: 'UDP',
    dst: '172.30.25.1',
    dport: 53,
  } as const
  const fixed = { ...flow, fixedSourcePort: 9004 }
  await expectFlow(lab(), {
    ...fixed,
    expect: { outcome: 'deliver', endpoints: ['10.180.2.1:53'] },
  })
  await lab().api.remove('Service', 'ns/dns')
  await lab().daemon.synced()
  await expectFlow(lab(), { ...fixed, retrySeconds: 2, expect: { outcome: 'unhandled' } })
})
