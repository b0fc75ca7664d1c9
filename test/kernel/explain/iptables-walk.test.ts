import { beforeEach, describe, expect, test } from 'vitest'
import { expectPrediction } from '../../support/explain/expect-prediction.ts'
import { predict } from '../../support/explain/predict.ts'
import { type Deployment, deploy } from '../../support/flows/deploy.ts'
import { reconfigure } from '../../support/lab/reconfigure.ts'
import { useLab } from '../../support/lab/use-lab.ts'

/** What the walk through the kernel's rules predicts is what packets do. */
const lab = useLab()
beforeEach(() => lab().reset())

const OUTSIDE = { from: 'outside', src: '203.0.113.2' } as const
const POD = { from: 'pod', src: '10.0.0.2' } as const
const NODE = { from: 'node', src: '192.168.0.2' } as const
const TWO: Deployment = {
  key: 'ns/two',
  clusterIP: '172.30.41.1',
  endpoints: [{ ip: '10.180.0.1' }, { ip: '10.180.2.1', node: 'far' }],
}
const NODE_PORT = {
  ports: [{ name: '', port: 80, nodePort: 30_080 }],
  spec: { type: 'NodePort' },
} as const

test('a ClusterIP from a pod: each backend with the same probability, the source kept', async () => {
  await deploy(lab(), TWO)
  const outcomes = await expectPrediction(lab(), { ...POD, dst: '172.30.41.1', port: 80 })
  expect(outcomes.map(({ probability }) => probability)).toEqual([0.5, 0.5])
})

test('a ClusterIP from the node and from outside', async () => {
  await deploy(lab(), TWO)
  await expectPrediction(lab(), { ...NODE, dst: '172.30.41.1', port: 80 })
  await expectPrediction(lab(), { ...OUTSIDE, dst: '172.30.41.1', port: 80 })
})

test('three backends: a third each, as chances of one in three and one in two make them', async () => {
  const endpoints = [{ ip: '10.180.0.1' }, { ip: '10.180.0.2' }, { ip: '10.180.0.3' }]
  await deploy(lab(), { ...TWO, endpoints })
  const outcomes = await expectPrediction(lab(), { ...POD, dst: '172.30.41.1', port: 80 })
  expect(outcomes).toHaveLength(3)
  for (const { probability } of outcomes) expect(probability).toBeCloseTo(1 / 3, 6)
})

test('a node port from outside, from a pod, from the node and from loopback', async () => {
  await deploy(lab(), { ...TWO, ...NODE_PORT })
  await expectPrediction(lab(), { ...OUTSIDE, dst: '192.168.0.2', port: 30_080 })
  await expectPrediction(lab(), { ...POD, dst: '192.168.0.2', port: 30_080 })
  await expectPrediction(lab(), { ...NODE, dst: '192.168.0.2', port: 30_080 })
  await expectPrediction(lab(), { from: 'node', src: '127.0.0.1', dst: '127.0.0.1', port: 30_080 })
})

test('UDP', async () => {
  const ports = [{ name: '', port: 53, protocol: 'UDP', targetPort: 5353 }] as const
  await deploy(lab(), { ...TWO, ports })
  await expectPrediction(lab(), { ...POD, dst: '172.30.41.1', port: 53, protocol: 'UDP' })
})

test('an external IP', async () => {
  await deploy(lab(), { ...TWO, spec: { externalIPs: ['1.2.3.9'] } })
  await expectPrediction(lab(), { ...OUTSIDE, dst: '1.2.3.9', port: 80 })
  await expectPrediction(lab(), { ...POD, dst: '1.2.3.9', port: 80 })
})

test('a load balancer with source ranges', async () => {
  const spec = { type: 'LoadBalancer', loadBalancerSourceRanges: ['203.0.113.0/25'] } as const
  await deploy(lab(), { ...TWO, spec, ingress: [{ ip: '1.2.3.4' }] })
  const lb = { dst: '1.2.3.4', port: 80 }
  const passes = await expectPrediction(lab(), { ...OUTSIDE, ...lb })
  expect(passes[0]?.kind).toBe('delivered')
  const dropped = await expectPrediction(lab(), { ...OUTSIDE, src: '203.0.113.130', ...lb })
  expect(dropped[0]?.kind).toBe('silent')
})

test('external policy Local with and without endpoints here', async () => {
  const spec = { type: 'NodePort', externalTrafficPolicy: 'Local' } as const
  await deploy(lab(), { ...TWO, ...NODE_PORT, spec })
  const port = { dst: '192.168.0.2', port: 30_080 }
  const kept = await expectPrediction(lab(), { ...OUTSIDE, ...port })
  expect(kept).toMatchObject([{ dst: { ip: '10.180.0.1' }, src: '203.0.113.2' }])
  const endpoints = [{ ip: '10.180.2.1', node: 'far' }]
  await lab().reset()
  await deploy(lab(), { ...TWO, ...NODE_PORT, spec, endpoints })
  const lost = await expectPrediction(lab(), { ...OUTSIDE, ...port })
  expect(lost).toMatchObject([{ kind: 'silent' }])
  await expectPrediction(lab(), { ...NODE, ...port })
})

test('without endpoints connections are refused', async () => {
  await deploy(lab(), { ...TWO, ...NODE_PORT, endpoints: [] })
  for (const from of [POD, NODE, OUTSIDE]) {
    const outcomes = await expectPrediction(lab(), { ...from, dst: '172.30.41.1', port: 80 })
    expect(outcomes).toMatchObject([{ kind: 'refused' }])
  }
  await expectPrediction(lab(), { ...OUTSIDE, dst: '192.168.0.2', port: 30_080 })
})

test('a pod reaches itself masqueraded', async () => {
  await deploy(lab(), { ...TWO, endpoints: [{ ip: '10.180.0.1' }] })
  await expectPrediction(lab(), { from: 'pod', src: '10.180.0.1', dst: '172.30.41.1', port: 80 })
})

test('affinity: after the first connection only one backend is predicted, until the set is flushed', async () => {
  await deploy(lab(), { ...TWO, spec: { sessionAffinity: 'ClientIP' } })
  const packet = { ...POD, src: '10.0.0.7', dst: '172.30.41.1', port: 80 }
  await lab().site('pod', packet.src)
  const first = await predict(lab(), packet)
  expect(first).toHaveLength(2)
  await lab().connect('pod', { source: packet.src, destination: packet.dst, port: 80 })
  expect(await expectPrediction(lab(), packet)).toHaveLength(1)
})

test('IPv6: ClusterIP, node port, no endpoints', async () => {
  const six: Deployment = {
    key: 'ns/six',
    clusterIP: 'fd00:172:30::41:1',
    endpoints: [{ ip: 'fd00:10::180:1' }, { ip: 'fd00:10:2::1', node: 'far' }],
    ...NODE_PORT,
  }
  await deploy(lab(), six)
  const pod = { from: 'pod', src: 'fd00:10::2' } as const
  const outside = { from: 'outside', src: '2600:5200::1' } as const
  await expectPrediction(lab(), { ...pod, dst: 'fd00:172:30::41:1', port: 80 })
  await expectPrediction(lab(), { ...outside, dst: '2001:db8::1', port: 30_080 })
  await lab().reset()
  await deploy(lab(), { ...six, endpoints: [] })
  await expectPrediction(lab(), { ...pod, dst: 'fd00:172:30::41:1', port: 80 })
})

test('an address that is no Service passes untouched', async () => {
  await expectPrediction(lab(), { ...POD, dst: '1.2.3.77', port: 80 })
})

describe('rules changed by hand', () => {
  test('a foreign DROP is named, and gone after its deletion', async () => {
    await deploy(lab(), TWO)
    const rule = [
      'FORWARD',
      '-d',
      '10.180.0.1',
      '-m',
      'comment',
      '--comment',
      'of another program',
      '-j',
      'DROP',
    ]
    const { namespace } = lab().node
    const packet = { ...POD, dst: '172.30.41.1', port: 80 }
    await namespace.exec(['iptables', '-I', ...rule])
    try {
      const outcomes = await expectPrediction(lab(), packet)
      const drop = outcomes.find(({ kind }) => kind === 'silent')
      expect(drop?.probability).toBe(0.5)
      expect(drop?.steps.at(-1)?.object).toContain('of another program')
    } finally {
      await namespace.exec(['iptables', '-D', ...rule])
    }
    expect((await expectPrediction(lab(), packet)).every(({ kind }) => kind === 'delivered')).toBe(
      true,
    )
  })

  test('a rule of another program rejects, and a limit makes it uncertain', async () => {
    await deploy(lab(), TWO)
    const { namespace } = lab().node
    const reject = ['FORWARD', '-p', 'tcp', '-m', 'multiport', '--dports', '80,443', '-j', 'REJECT']
    await namespace.exec(['iptables', '-I', ...reject])
    try {
      const outcomes = await expectPrediction(lab(), { ...POD, dst: '172.30.41.1', port: 80 })
      expect(outcomes).toMatchObject([{ kind: 'refused', how: 'icmp-port-unreachable' }])
    } finally {
      await namespace.exec(['iptables', '-D', ...reject])
    }
  })
})

test('masqueradeAll: backends see the node', async () => {
  await reconfigure(lab(), { iptables: { masqueradeAll: true } })
  try {
    await deploy(lab(), TWO)
    const outcomes = await expectPrediction(lab(), { ...POD, dst: '172.30.41.1', port: 80 })
    expect(outcomes.map((one) => one.kind === 'delivered' && one.src)).not.toContain('10.0.0.2')
  } finally {
    await reconfigure(lab(), {})
  }
})
