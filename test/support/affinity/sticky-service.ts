import { expect } from 'vitest'
import type { ConnectOutcome } from '../agent/protocol.ts'
import { deploy } from '../flows/deploy.ts'
import { chiSquareOfEqual } from '../lab/chi-square.ts'
import { isUserspace } from '../lab/daemon-config.ts'
import type { Lab } from '../lab/lab.ts'
import { type EndpointSpec, type PortSpec, slice } from '../lab/objects.ts'

const VIP = '172.30.14.1'

export const ENDPOINTS: readonly EndpointSpec[] = [1, 2, 3].map((n) => ({
  ip: `10.180.2.${n}`,
  node: 'far',
}))

/** A Service with session affinity for `seconds`; undefined: the default of the API. */
export function deploySticky(
  lab: Lab,
  seconds: number | undefined,
  endpoints = ENDPOINTS,
): Promise<void> {
  const timeout = seconds === undefined ? {} : { clientIP: { timeoutSeconds: seconds } }
  return deploy(lab, {
    key: 'ns/sticky',
    clusterIP: VIP,
    endpoints,
    ports: [{ name: '', port: 80, nodePort: 30080 }],
    spec: { type: 'NodePort', sessionAffinity: 'ClientIP', sessionAffinityConfig: timeout },
  })
}

const LOAD_BALANCER = '203.0.113.14'

/** Ports of one Service: 80, 81 with another targetPort, and a UDP port; `deployPorts` may add 82. */
const PORTS = [
  { name: 'a', port: 80, nodePort: 30_080 },
  { name: 'b', port: 81, nodePort: 30_081, targetPort: 8081 },
  { name: 'u', port: 80, nodePort: 30_080, protocol: 'UDP' },
] as const satisfies readonly PortSpec[]

/** Further addresses and ports of the Service, beside its first port at the ClusterIP. */
export const TARGETS: readonly Target[] = [
  { port: 81 },
  { protocol: 'UDP' },
  { destination: '192.168.0.2', port: 30_080 },
  { destination: '192.168.0.2', port: 30_081 },
  { destination: '192.168.0.2', port: 30_080, protocol: 'UDP' },
  { destination: LOAD_BALANCER, port: 81 },
]

/** A Service of three ports with affinity; `extra` are the endpoints of a fourth, 82. */
export async function deployPorts(
  lab: Lab,
  { endpoints = ENDPOINTS, extra }: { endpoints?: typeof ENDPOINTS; extra?: typeof ENDPOINTS } = {},
): Promise<void> {
  const added = { name: 'c', port: 82, protocol: 'TCP' } as const
  for (const { ip } of extra ?? []) await lab.serve({ ip, local: false, ports: [added] })
  if (extra) await lab.api.apply(slice('ns/sticky', extra, { ports: [added], suffix: 'extra' }))
  await deploy(lab, {
    key: 'ns/sticky',
    clusterIP: VIP,
    endpoints,
    ports: PORTS,
    spec: {
      type: 'LoadBalancer',
      sessionAffinity: 'ClientIP',
      ...(extra && { ports: [...PORTS, added] }),
    },
    ingress: [{ ip: LOAD_BALANCER }],
  })
}

/** Where a client connects to; by default to TCP port 80 of the ClusterIP. */
interface Target {
  readonly protocol?: 'TCP' | 'UDP'
  readonly destination?: string
  readonly port?: number
}

/** The Pods of these endpoints. */
export function podsOf(endpoints: readonly string[]): readonly string[] {
  return endpoints.map((endpoint) => endpoint.replace(/:\d+$/, ''))
}

/** The endpoint of each client, which must all be answered. */
export async function connectAll(
  lab: Lab,
  sources: readonly string[],
  { protocol = 'TCP', destination = VIP, port = 80 }: Target = {},
): Promise<readonly string[]> {
  const outcomes = await lab.outside.agent.call('connectEach', {
    protocol,
    sources,
    destination,
    port,
    parallel: 64,
    timeoutMs: 10_000,
  })
  expect(outcomes.filter(({ kind }) => kind !== 'answered')).toEqual([])
  return outcomes.map(nameOf)
}

function nameOf(outcome: ConnectOutcome): string {
  return outcome.kind === 'answered' ? outcome.name : outcome.kind
}

/** How many clients have another endpoint than before. */
export function moved(before: readonly string[], after: readonly string[]): number {
  return before.filter((name, index) => name !== after[index]).length
}

/**
 * How many of 66,000 clients may move. In iptables mode the kernel remembers at most twelve clients in a bucket, so it
 * forgets 0.15 clients on average, and more than seven with a probability of 10⁻¹¹.
 */
const MAX_FORGOTTEN = isUserspace() ? 0 : 7

/** Connects `count` clients twice, and expects that endpoints get equal shares, and that no client moves. */
export async function expectCrowdSticks(lab: Lab, count: number): Promise<void> {
  await deploySticky(lab, 10_800)
  const clients = await lab.crowd(count)
  const first = await connectAll(lab, clients)
  const counts = ENDPOINTS.map(({ ip }) => first.filter((name) => name === `${ip}:80`).length)
  const { value, limit } = chiSquareOfEqual(counts)
  expect(value).toBeLessThan(limit)
  expect(moved(first, await connectAll(lab, clients))).toBeLessThanOrEqual(MAX_FORGOTTEN)
}
