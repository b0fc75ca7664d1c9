import { beforeAll, describe, expect, test } from 'vitest'
import { type Deployment, deployAll } from '../support/flows/deploy.ts'
import { expectFlow } from '../support/flows/expect-flow.ts'
import type { LabFlow } from '../support/flows/lab-flow.ts'
import { newMemory } from '../support/flows/replay.ts'
import { useLab } from '../support/lab/use-lab.ts'

/** Refusal (ICMP or RST, at once) against silence, for every way in and both families. */
const lab = useLab()
/** No flow changes a rule, so all are predicted by one reading. */
const memory = newMemory()

const PORTS = [
  { name: 'tcp', port: 80, protocol: 'TCP', nodePort: 30080 },
  { name: 'udp', port: 80, protocol: 'UDP', nodePort: 30080 },
  { name: 'sctp', port: 80, protocol: 'SCTP', nodePort: 30080 },
] as const

const EMPTY: Deployment = {
  key: 'ns/empty',
  clusterIP: '172.30.13.1',
  endpoints: [],
  ports: PORTS,
  spec: { type: 'LoadBalancer', externalIPs: ['198.51.100.7'] },
  ingress: [{ ip: '1.2.3.4' }],
}

const EMPTY_V6: Deployment = {
  key: 'ns/empty-v6',
  clusterIP: 'fd00:172:30::13:1',
  endpoints: [],
  ports: PORTS.map((port) => ({ ...port, nodePort: 30086 })),
  spec: { type: 'LoadBalancer', externalIPs: ['2001:db8:51::7'] },
  ingress: [{ ip: '2001:db8:99::4' }],
}

/** Endpoints, but none here: outside traffic under policy Local has nowhere to go. */
const ELSEWHERE: Deployment = {
  key: 'ns/elsewhere',
  clusterIP: '172.30.13.2',
  endpoints: [{ ip: '10.180.2.1', node: 'far' }],
  ports: PORTS.map((port) => ({ ...port, nodePort: 30082 })),
  spec: {
    type: 'LoadBalancer',
    externalTrafficPolicy: 'Local',
    internalTrafficPolicy: 'Local',
    externalIPs: ['198.51.100.8'],
  },
  ingress: [{ ip: '1.2.3.5' }],
}

beforeAll(() => deployAll(lab(), [EMPTY, EMPTY_V6, ELSEWHERE]))

const REFUSED: readonly (readonly [LabFlow['from'], string, string, number])[] = [
  ['pod', '10.0.0.2', '172.30.13.1', 80],
  ['pod', '10.0.0.2', '192.168.0.2', 30080],
  ['pod', '10.0.0.2', '1.2.3.4', 80],
  ['pod', '10.0.0.2', '198.51.100.7', 80],
  ['external', '203.0.113.2', '172.30.13.1', 80],
  ['external', '203.0.113.2', '192.168.1.2', 30080],
  ['external', '203.0.113.2', '1.2.3.4', 80],
  ['external', '203.0.113.2', '198.51.100.7', 80],
  ['node', '192.168.0.2', '172.30.13.1', 80],
  ['node', '192.168.0.2', '192.168.0.2', 30080],
  ['node', '192.168.0.2', '1.2.3.4', 80],
  ['pod', 'fd00:10::2', 'fd00:172:30::13:1', 80],
  ['pod', 'fd00:10::2', '2001:db8::1', 30086],
  ['external', '2600:5200::1', '2001:db8:1::2', 30086],
  ['external', '2600:5200::1', '2001:db8:99::4', 80],
  ['external', '2600:5200::1', '2001:db8:51::7', 80],
  ['node', '2001:db8::1', 'fd00:172:30::13:1', 80],
]

describe.each(['TCP', 'UDP', 'SCTP'] as const)('%s', (proto) => {
  test.each(REFUSED)('%s %s is refused at %s %i', (from, src, dst, dport) =>
    expectFlow(lab(), { from, src, proto, dst, dport, expect: { outcome: 'reject' } }, memory),
  )

  test.each([
    ['external', '203.0.113.2', '192.168.0.2', 30082],
    ['external', '203.0.113.2', '1.2.3.5', 80],
    ['external', '203.0.113.2', '198.51.100.8', 80],
    ['pod', '10.0.0.2', '172.30.13.2', 80],
    ['node', '192.168.0.2', '172.30.13.2', 80],
  ] as const)('%s %s meets silence at %s %i', (from, src, dst, dport) =>
    expectFlow(lab(), { from, src, proto, dst, dport, expect: { outcome: 'drop' } }, memory),
  )
})

test('a refused client learns it at once: connections are refused within their first packet', async () => {
  const outcomes = await lab().connect('outside', {
    source: '203.0.113.2',
    destination: '1.2.3.4',
    port: 80,
    attempts: 20,
    timeoutMs: 300,
  })
  expect(outcomes.filter(({ kind }) => kind !== 'refused')).toEqual([])
})
