import { beforeAll, describe, expect, test } from 'vitest'
import { decodeNodeFacts } from '../../../src/doctor/evidence/node-facts.ts'
import { type BrokenNode, expectFound, run } from '../../support/doctor/broken-node.ts'
import { nodeFindings } from '../../support/doctor/node-findings.ts'
import { SERVICES } from '../../support/doctor/services.ts'
import { whileSending } from '../../support/doctor/while-sending.ts'
import { deploy, deployAll } from '../../support/flows/deploy.ts'
import { nodeCommand } from '../../support/inspection/node-command.ts'
import { backendProgram } from '../../support/lab/daemon-config.ts'
import { useLab } from '../../support/lab/use-lab.ts'

/** Settings, interfaces, sockets and Services that are in the way. */
const lab = useLab()
beforeAll(() => deployAll(lab(), SERVICES))

const OUTSIDE = '203.0.113.2'
const CLIENT = ['--client', OUTSIDE]
const BALANCER = '1.2.3.4'

const BROKEN: readonly BrokenNode[] = [
  {
    name: 'an interface does not forward',
    run: ['sysctl -q net.ipv4.conf.cbr0.forwarding=0'],
    undo: ['sysctl -q net.ipv4.conf.cbr0.forwarding=1'],
    check: 'forwarding-off',
    cause: /does not forward packets that come in by cbr0/,
  },
  {
    name: 'bridged packets bypass the rules',
    run: ['sysctl -q net.bridge.bridge-nf-call-iptables=0'],
    undo: ['sysctl -q net.bridge.bridge-nf-call-iptables=1'],
    check: 'bridge-netfilter',
    cause: /bridged packets bypass the rules/,
    seen: /bridge cbr0 has 2 ports; 2 backends are behind it/,
  },
  {
    name: 'neighbours reach 127.0.0.1',
    run: ['sysctl -q net.ipv4.conf.all.route_localnet=1'],
    undo: ['sysctl -q net.ipv4.conf.all.route_localnet=0'],
    check: 'exposed-loopback',
    cause: /neighbours reach services on 127\.0\.0\.1 of this node by eth0/,
  },
  {
    name: 'the uplink carries less than Pods send',
    run: ['ip link set eth0 mtu 1400'],
    undo: ['ip link set eth0 mtu 1500'],
    check: 'interface-mtu',
    cause: /uplink eth0 has MTU 1400, and Pods send packets of up to 1500/,
    seen: /cbr0, to Pods of this node: MTU 1500/,
  },
  {
    name: 'the uplink got a smaller MTU than its tunnel counts on',
    run: [
      'ip link add vx0 type vxlan id 7 dstport 4789 dev eth0',
      'ip link set vx0 up',
      'ip link set eth0 mtu 1400',
    ],
    undo: ['ip link set eth0 mtu 1500', 'ip link del vx0'],
    check: 'interface-mtu',
    cause: /tunnel vx0 has MTU 1450, but eth0 below carries 1350/,
  },
]

describe('the first finding', () => {
  test.each(BROKEN)('$name', (broken) => expectFound(lab(), broken))
})

test('a tunnel that fits its uplink: nothing', async () => {
  try {
    await run(lab(), 'ip link add vx0 type vxlan id 7 dstport 4789 dev eth0')
    await run(lab(), 'ip link set vx0 up')
    expect(await nodeFindings(lab())).toEqual([])
  } finally {
    await run(lab(), 'ip link del vx0')
  }
})

test('rp_filter drops packets of a client whose answers leave elsewhere', async () => {
  const client = '198.51.100.9'
  const to = { destination: '172.30.41.1', port: 80, timeoutMs: 150, attempts: 5 }
  // The client learns the node's MAC address: rp_filter drops requests for it, too.
  await lab().connect('outside', { ...to, source: OUTSIDE })
  await lab().site('outside', client)
  try {
    await run(lab(), `ip route replace ${client}/32 dev cbr0`)
    await run(lab(), 'sysctl -q net.ipv4.conf.eth0.rp_filter=1')
    expect(await nodeFindings(lab())).toEqual([])
    const sending = { ...to, place: 'outside', source: client } as const
    const [[first], kinds] = await whileSending(lab(), nodeFindings(lab()), sending)
    expect(kinds).toEqual(new Set(['timeout']))
    expect(first).toMatchObject({ check: 'reverse-path' })
    expect(first?.cause).toMatch(/^rp_filter is strict on eth0, /)
    expect(first?.evidence.join()).toMatch(/IPReversePathFilter grew by [1-9]/)
  } finally {
    await run(lab(), 'sysctl -q net.ipv4.conf.eth0.rp_filter=0')
    await run(lab(), `ip route replace ${client}/32 dev eth0`)
  }
})

test('session affinity keeps one client at one backend', async () => {
  const key = 'ns/sticky'
  const endpoints = [{ ip: '10.180.0.1' }, { ip: '10.180.0.2' }]
  const spec = { sessionAffinity: 'ClientIP' } as const
  await deploy(lab(), { key, clusterIP: '172.30.41.7', endpoints, spec })
  const attempt = { source: OUTSIDE, destination: '172.30.41.7', port: 80, timeoutMs: 5_000 }
  // A reading of the counters serves every reader for a second: the first of two must know the Service.
  const traffic = async () => (await nodeCommand(lab(), 'traffic', '-o', 'json', key)).stdout
  await expect.poll(traffic).toContain('"ip":"10.180.0.2"')
  const found = nodeFindings(lab(), '--seconds', '5')
  // Sixty connections between the two readings are needed for a judgement, on a busy machine too.
  const sending = { ...attempt, place: 'outside', attempts: 200 } as const
  const [[first], kinds] = await whileSending(lab(), found, sending)
  expect(kinds).toEqual(new Set(['answered']))
  expect(first).toMatchObject({ check: 'unbalanced-load', symptom: 'Unbalanced load' })
  expect(first?.cause).toMatch(
    /^one of 2 backends of ns\/sticky:\/TCP\/4 has 100 % .* affinity keeps/,
  )
  await lab().api.remove('Service', key)
  await lab().daemon.synced()
})

test('another process listens at a node port', async () => {
  const listener = { protocol: 'TCP', ip: '0.0.0.0', port: 30_080, name: 'other' } as const
  await lab().node.agent.call('listen', listener)
  try {
    const [first] = await nodeFindings(lab())
    expect(first).toMatchObject({
      check: 'taken-node-port',
      cause: expect.stringMatching(
        /\(pid \d+\) listens at TCP port 30080, which is a node port of ns\/two/,
      ),
      affects: ['service/ns/two'],
    })
    expect(first?.evidence.join()).toContain('ip_local_port_range = 10000 65000')
  } finally {
    await lab().node.agent.call('unlisten', listener)
  }
})

test('nothing listens at the targetPort: found by --connect alone', async () => {
  await deploy(lab(), {
    key: 'ns/typo',
    clusterIP: '172.30.41.3',
    endpoints: [{ ip: '10.180.0.3' }],
  })
  await (await lab().pods.at('10.180.0.3')).agent.call('unlistenAll', null)
  expect(await nodeFindings(lab())).toEqual([])
  const [first, ...others] = await nodeFindings(lab(), '--connect')
  expect(others).toEqual([])
  expect(first).toMatchObject({
    check: 'backend-refuses',
    cause:
      '1 of 1 backends of service/ns/typo on this node refuse connections at port 80: nothing listens there',
    evidence: ['10.180.0.3 port 80: connection refused'],
  })
  await lab().api.remove('Service', 'ns/typo')
  await lab().daemon.synced()
})

describe('a load balancer', () => {
  const key = 'ns/balanced'
  const service = { key, clusterIP: '172.30.41.4', ingress: [{ ip: BALANCER }] }

  test('loadBalancerSourceRanges do not admit a client that is named', async () => {
    const spec = { type: 'LoadBalancer', loadBalancerSourceRanges: ['198.51.100.0/24'] } as const
    await deploy(lab(), { ...service, endpoints: [{ ip: '10.180.0.2' }], spec })
    expect(await nodeFindings(lab())).toEqual([])
    const [first] = await nodeFindings(lab(), ...CLIENT)
    expect(first).toMatchObject({
      check: 'source-ranges',
      cause: `loadBalancerSourceRanges of service/${key} do not admit ${OUTSIDE}`,
    })
    expect(await nodeFindings(lab(), '--client', '198.51.100.7')).toEqual([])
  })

  test('policy Local without an endpoint here: found when clients come nevertheless', async () => {
    const spec = { type: 'LoadBalancer', externalTrafficPolicy: 'Local' } as const
    await deploy(lab(), { ...service, endpoints: [{ ip: '10.180.2.2', node: 'far' }], spec })
    expect(await nodeFindings(lab())).toEqual([])
    expect((await nodeFindings(lab(), ...CLIENT))[0]?.check).toBe('no-local-endpoint')
    const attempt = {
      source: OUTSIDE,
      destination: BALANCER,
      port: 80,
      timeoutMs: 200,
      attempts: 3,
    }
    await lab().connect('outside', attempt)
    const [first] = await nodeFindings(lab())
    expect(first).toMatchObject({ check: 'no-local-endpoint', affects: [`service/${key}`] })
    expect(first?.evidence.join()).toMatch(/has dropped [1-9]\d* packets so far/)
    await lab().api.remove('Service', key)
    await lab().daemon.synced()
  })
})

test('rules of a stopped kube-proxy', async () => {
  const restore = (input: string) =>
    lab().node.namespace.exec([backendProgram('iptables-restore'), '--noflush'], { input })
  const jump = 'PREROUTING -m comment --comment "kubernetes service portals" -j KUBE-SERVICES'
  await restore(`*nat\n:KUBE-SERVICES - [0:0]\n-I ${jump}\nCOMMIT\n`)
  try {
    const [first] = await nodeFindings(lab())
    expect(first).toMatchObject({
      check: 'foreign-proxy',
      cause: expect.stringContaining(
        'kube-proxy is on this node, too: no process of it is to be seen',
      ),
    })
    expect(first?.evidence.join()).toContain('chain KUBE-SERVICES in table nat')
  } finally {
    await restore(`*nat\n-D ${jump}\n-X KUBE-SERVICES\nCOMMIT\n`)
  }
})

test('the facts by HTTP are those of the command', async () => {
  const { status, body } = await lab().daemon.http(10247, '/inspection/v1/facts')
  expect(status).toBe(200)
  const facts = decodeNodeFacts(JSON.parse(body))
  expect(facts).toMatchObject({ node: 'test-node', unread: [], daemon: { mode: 'iptables' } })
  expect(facts?.walks.map(({ purpose }) => purpose)).toContain('fromOutside')
})

test('two Services claim one address', async () => {
  const spec = { externalIPs: ['1.2.3.9'] }
  const one = { endpoints: [{ ip: '10.180.0.2' }], spec }
  await deploy(lab(), { ...one, key: 'ns/a', clusterIP: '172.30.41.5' })
  await deploy(lab(), { ...one, key: 'ns/b', clusterIP: '172.30.41.6' })
  const [first] = await nodeFindings(lab())
  expect(first).toMatchObject({ check: 'unserved-services', evidence: ['NP_FORWARDING_CONFLICT'] })
  for (const key of ['ns/a', 'ns/b']) await lab().api.remove('Service', key)
  await lab().daemon.synced()
})

test('the API server is away', async () => {
  await lab().apiServer.hangUp()
  try {
    const reason = async () => (await nodeFindings(lab()))[0]
    await expect.poll(reason, { interval: 500 }).toMatchObject({ check: 'not-ready' })
  } finally {
    await lab().apiServer.answerAgain()
  }
  await expect.poll(() => nodeFindings(lab()), { interval: 500 }).toEqual([])
})

test('a killed daemon leaves rules that go stale', async () => {
  await lab().daemon.kill()
  const [first, ...others] = await nodeFindings(lab())
  expect(others).toEqual([])
  expect(first).toMatchObject({
    check: 'daemon-absent',
    cause: 'node-proxy does not answer, but its rules are in the kernel: they go stale',
  })
  expect(first?.evidence.join()).toMatch(/[1-9]\d+ rules of node-proxy are listed by iptables-/)
  await lab().daemon.once(['--cleanup'])
  expect((await nodeFindings(lab()))[0]?.cause).toContain('no node-proxy runs')
})
