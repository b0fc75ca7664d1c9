import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ClusterStore } from '../cluster/cluster-store.ts'
import type { ClusterEvent } from '../cluster/event.ts'
import type { NodeContext } from '../forwarding/node-context.ts'
import { ForwardingTable } from '../forwarding/table.ts'
import { FakeSets } from '../kernel/ipset/fake-sets.ts'
import { FakeIptables, type InjectedFailure } from '../kernel/iptables/fake-iptables.ts'
import { FakeMonitor } from '../kernel/nftables-monitor/fake-monitor.ts'
import { type IpAddress, parseIp } from '../lib/ip.ts'
import { settings } from '../modes/fixtures.ts'
import { IptablesMode } from '../modes/iptables/mode.ts'
import type { Endpoint, Service, ServiceKey } from '../resources/types.ts'
import { DeltaTracker } from './delta-tracker.ts'
import { FakeClock } from './fake-clock.ts'
import { NodeModel } from './node-model.ts'
import { SyncLoop } from './sync-loop.ts'

/**
 * The promise of the whole house: whatever happened before, the kernel ends up
 * as if the daemon had just been started. Few names and addresses make sure that
 * Services fight over the same ones all the time.
 */
const HISTORIES = Number(process.env['NP_HISTORIES'] ?? 5_000)

const ip = (text: string) => parseIp(text) as IpAddress
const KEYS = ['ns/a', 'ns/b', 'ns/c', 'ns/d', 'other/a'] as ServiceKey[]
const SOURCES = KEYS.flatMap((key) => [`${key}-1`, `${key}-2`])
const VIPS = ['172.30.0.1', '172.30.0.2', '172.30.0.17', '5.6.7.8', 'fd00::1', 'fd00::2'].map(ip)
const policy = fc.constantFrom('Cluster' as const, 'Local' as const)

const service = (key: ServiceKey): fc.Arbitrary<Service> =>
  fc.record({
    key: fc.constant(key),
    uid: fc.constant('u'),
    type: fc.constantFrom('ClusterIP', 'NodePort', 'LoadBalancer'),
    clusterIPs: fc.uniqueArray(fc.constantFrom(...VIPS), { minLength: 1, maxLength: 2 }),
    ports: fc.uniqueArray(
      fc.record({
        name: fc.constantFrom('http', 'dns'),
        protocol: fc.constantFrom('TCP', 'UDP'),
        port: fc.constantFrom(53, 80),
        nodePort: fc.constantFrom(0, 30_001, 30_002),
      }),
      { minLength: 1, maxLength: 3, selector: ({ name, protocol }) => name + protocol },
    ),
    externalIPs: fc.uniqueArray(fc.constantFrom(...VIPS), { maxLength: 1 }),
    loadBalancerIPs: fc.uniqueArray(fc.constantFrom(...VIPS), { maxLength: 1 }),
    loadBalancerSourceRanges: fc.constant(undefined),
    externalTrafficPolicy: policy,
    internalTrafficPolicy: policy,
    healthCheckNodePort: fc.constant(0),
    affinitySeconds: fc.constantFrom(undefined, undefined, 60),
    publishNotReadyAddresses: fc.boolean(),
    proxyName: fc.constantFrom(undefined, undefined, undefined, 'other'),
    scheduler: fc.constant(undefined),
  })

const endpoint: fc.Arbitrary<Endpoint> = fc.record({
  ip: fc.constantFrom(...['10.0.0.1', '10.0.0.2', '10.0.0.3', 'fd00:10::1'].map(ip)),
  nodeName: fc.constantFrom('here', 'there'),
  ready: fc.boolean(),
  serving: fc.boolean(),
  terminating: fc.boolean(),
  zoneHints: fc.constantFrom(undefined, ['zone-a']),
  nodeHints: fc.constant(undefined),
  weight: fc.constant(1),
})

const serviceEvent: fc.Arbitrary<ClusterEvent> = fc
  .constantFrom(...KEYS)
  .chain((key) =>
    fc
      .option(service(key), { nil: undefined, freq: 4 })
      .map((value) => ({ kind: 'service', key, value })),
  )

const endpointsEvent: fc.Arbitrary<ClusterEvent> = fc.constantFrom(...SOURCES).chain((name) =>
  fc
    .option(fc.tuple(fc.array(endpoint, { maxLength: 3 }), fc.constantFrom(...KEYS)), {
      nil: undefined,
      freq: 4,
    })
    .map((given) => ({ kind: 'endpoints', name, value: given && source(name, ...given) })),
)

function source(name: string, endpoints: readonly Endpoint[], service: ServiceKey) {
  const ports = (['http', 'dns'] as const).flatMap((port) =>
    (['TCP', 'UDP'] as const).map((protocol) => ({ name: port, protocol, port: 8080 })),
  )
  const groups = ([4, 6] as const).map((family) => ({
    family,
    ports,
    endpoints: endpoints.filter((one) => one.ip.includes(':') === (family === 6)),
  }))
  return { name, service, groups, triggeredAt: undefined }
}

const FAILURES: readonly InjectedFailure[] = [
  { kind: 'refused' },
  { kind: 'locked' },
  { kind: 'timeout' },
  { kind: 'timeout', applied: true },
]

interface Step {
  readonly events: readonly ClusterEvent[]
  /** The watch breaks and everything is listed again. */
  readonly relist: boolean
  readonly restart: boolean
  readonly wait: boolean
  readonly failure: InjectedFailure | undefined
}

const step: fc.Arbitrary<Step> = fc.record({
  events: fc.array(fc.oneof(serviceEvent, endpointsEvent), { minLength: 1, maxLength: 4 }),
  relist: fc.boolean(),
  restart: fc.constantFrom(false, false, false, true),
  wait: fc.boolean(),
  failure: fc.constantFrom(undefined, undefined, undefined, ...FAILURES),
})

const node: NodeContext = {
  name: 'here',
  zone: 'zone-a',
  addresses: { 4: [ip('192.168.0.2')], 6: [] },
  allowedExternalIPs: undefined,
  proxyName: undefined,
  drainSeconds: { TCP: 0, UDP: 0, SCTP: 0 },
}

interface Kernel {
  readonly sets: FakeSets
  readonly iptables: FakeIptables
}

function bareKernel(): Kernel {
  const sets = new FakeSets()
  const iptables = new FakeIptables({ sets })
  sets.isUsed = (name) => iptables.refersTo(name)
  return { sets, iptables }
}

function daemon(kernel: Kernel, clock: FakeClock) {
  const mode = new IptablesMode(settings(), { ...kernel, monitor: new FakeMonitor() })
  const failed: unknown[] = []
  const ignore = () => {}
  const loop = new SyncLoop({
    mode,
    clock,
    model: new NodeModel({
      store: new ClusterStore(),
      table: new ForwardingTable(node),
      program: mode.program,
      nodeContext: () => node,
    }),
    tracker: new DeltaTracker(),
    observer: {
      queued: ignore,
      begun: ignore,
      compiled: ignore,
      applied: ignore,
      drifted: ignore,
      respelled: ignore,
      flowsCut: ignore,
      failed: (error) => failed.push(error),
    },
    cutFlows: async () => 0,
    minPeriodMs: 0,
    verifyPeriodMs: 30_000,
  })
  return { loop, failed }
}

type State = Map<string, ClusterEvent>

function remember(state: State, events: readonly ClusterEvent[]): void {
  for (const event of events) {
    const key = `${event.kind} ${event.kind === 'service' ? event.key : event.name}`
    if (event.value === undefined) state.delete(key)
    else state.set(key, event)
  }
}

async function afterHistory(steps: readonly Step[], state: State): Promise<Kernel> {
  const kernel = bareKernel()
  const clock = new FakeClock()
  let { loop, failed } = daemon(kernel, clock)
  loop.setSynced()
  for (const { events, relist, restart, wait, failure } of steps) {
    if (failure) kernel.iptables.failNext(failure)
    loop.enqueue(events)
    remember(state, events)
    if (wait) await clock.advance(1)
    if (relist) loop.enqueue([...state.values()])
    if (restart) {
      await loop.stop()
      ;({ loop, failed } = daemon(kernel, clock))
      loop.enqueue([...state.values()])
      loop.setSynced()
    }
  }
  await clock.advance(700_000)
  expect(failed).toEqual([])
  await loop.stop()
  return kernel
}

async function afterFreshStart(state: State): Promise<Kernel> {
  const kernel = bareKernel()
  const clock = new FakeClock()
  const { loop } = daemon(kernel, clock)
  loop.enqueue([...state.values()].reverse())
  loop.setSynced()
  await clock.advance(1)
  await loop.stop()
  return kernel
}

test(`any of ${HISTORIES} histories ends in the kernel state of a fresh start`, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
      const state: State = new Map()
      const walked = await afterHistory(steps, state)
      const fresh = await afterFreshStart(state)
      expect(walked.iptables.dump()).toBe(fresh.iptables.dump())
      expect((await walked.sets.names('')).toSorted()).toEqual(
        (await fresh.sets.names('')).toSorted(),
      )
    }),
    { numRuns: HISTORIES },
  )
}, 600_000)
