import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fakeKernel, ipvsSettings } from '../../test/support/modes/fake-ipvs-node.ts'
import { remember, type State } from '../../test/support/sync/histories.ts'
import { someEvents } from '../../test/support/sync/some-events.ts'
import { type ClusterEvent, ClusterStore } from '../cluster/cluster-store.ts'
import type { NodeContext } from '../forwarding/node-context.ts'
import { ForwardingTable } from '../forwarding/table.ts'
import { FakeSets } from '../kernel/ipset/testing/fake-sets.ts'
import { FakeIptables } from '../kernel/iptables/testing/fake-iptables.ts'
import { FakeNamespace } from '../kernel/nftables/testing/fake-namespace.ts'
import { FakeNftables } from '../kernel/nftables/testing/fake-nftables.ts'
import { FakeObjectMonitor } from '../kernel/nftables/testing/fake-object-monitor.ts'
import { FakeMonitor } from '../kernel/testing/fake-monitor.ts'
import { FakeClock } from '../lib/testing/fake-clock.ts'
import type { ModeView } from '../modes/definition/mode-view.ts'
import { viewIptables } from '../modes/iptables/driver.ts'
import { IptablesMode } from '../modes/iptables/mode.ts'
import { viewIpvs } from '../modes/ipvs/driver/open-ipvs.ts'
import { IpvsMode } from '../modes/ipvs/mode.ts'
import type { Change, Mode, ObjectKey } from '../modes/mode.ts'
import { viewNftables } from '../modes/nftables/driver/nftables-driver.ts'
import { TABLE } from '../modes/nftables/keys/names.ts'
import { NftablesMode } from '../modes/nftables/mode.ts'
import { ip, settings } from '../modes/testing/mode-fixtures.ts'
import { DeltaTracker } from './delta-tracker.ts'
import { type DryRun, dryRun } from './dry-run.ts'
import { NodeModel } from './node-model.ts'
import { SyncLoop } from './sync-loop.ts'

const HISTORIES = Number(process.env['NP_HISTORIES'] ?? 100)

const node: NodeContext = {
  name: 'here',
  zone: 'zone-a',
  addresses: { 4: [ip('192.168.0.2')], 6: [] },
  allowedExternalIPs: undefined,
  proxyName: undefined,
  affinityScope: 'service',
  drainSeconds: { TCP: 0, UDP: 0, SCTP: 0 },
}

/** A fake kernel with what daemon and plan see of it. */
interface Rig {
  readonly clock: FakeClock
  mode(): Mode
  view(): Promise<ModeView>
  /** What another process does to it. */
  harm(): Promise<void>
  /** Everything in it. */
  state(): Promise<unknown>
}

function iptablesRig(): Rig {
  const sets = new FakeSets()
  const iptables = new FakeIptables({ sets })
  sets.isUsed = (name) => iptables.refersTo(name)
  return {
    clock: new FakeClock(),
    mode: () => new IptablesMode(settings(), { iptables, sets, monitor: new FakeMonitor() }),
    view: async () => viewIptables(settings(), { iptables, sets }),
    async harm() {
      await iptables.restore(4, '*nat\n:NPROXY-SERVICES - [0:0]\n:NPROXY-STRAY - [0:0]\nCOMMIT\n')
    },
    state: async () => [iptables.dump(), await sets.names('')],
  }
}

function nftablesRig(): Rig {
  const clock = new FakeClock()
  const namespace = new FakeNamespace(clock)
  const foreign = new FakeNftables(namespace)
  return {
    clock,
    mode() {
      const nftables = new FakeNftables(namespace)
      const monitor = new FakeObjectMonitor(namespace, { table: TABLE, exceptPort: nftables.port })
      return new NftablesMode(settings(), { nftables, monitor })
    },
    view: () => viewNftables(settings(), new FakeNftables(namespace)),
    async harm() {
      await foreign.commit([{ do: 'deleteTable', table: { family: 4, name: TABLE } }])
    },
    state: async () => namespace.dump(),
  }
}

function ipvsRig(): Rig {
  const kernel = fakeKernel({ schedulers: ['rr', 'wlc', 'dh', 'sh', 'missing'] })
  const given = ipvsSettings({ netfilter: settings({ localhostNodePorts: true }) })
  return {
    clock: kernel.clock,
    mode: () => new IpvsMode(given, kernel),
    view: async () => viewIpvs(given, kernel),
    async harm() {
      const [first] = await kernel.ipvs.services()
      if (first) await kernel.ipvs.run([{ do: 'deleteService', id: first.id }])
      await kernel.sets.run([{ do: 'flush', name: 'NPVS-4-MASQUERADE' }])
    },
    state: async () => [
      await kernel.ipvs.services(),
      await kernel.ipvs.serversOf((await kernel.ipvs.services()).map(({ id }) => id)),
      await kernel.sets.headers(''),
      kernel.iptables.dump(),
      await kernel.routes.list(),
    ],
  }
}

/** A daemon that records what it passes to `apply`, and which flows it deletes. */
function daemon({ mode: build, clock }: Rig, state: State) {
  const mode = build()
  const changes: Change[] = []
  const cut: unknown[] = []
  const apply = mode.apply.bind(mode)
  mode.apply = (change) => {
    changes.push(change)
    return apply(change)
  }
  const ignore = () => {}
  const { program } = mode
  const store = new ClusterStore()
  store.apply([...state.values()])
  const table = new ForwardingTable(node)
  const loop = new SyncLoop({
    mode,
    clock,
    wallClock: clock,
    tracker: new DeltaTracker(),
    minPeriodMs: 0,
    verifyPeriodMs: 30_000,
    model: new NodeModel({ store, table, program, nodeContext: () => node }),
    observer: {
      queued: ignore,
      compiled: ignore,
      begun: ignore,
      applied: ignore,
      drifted: ignore,
      normalised: ignore,
      failed: ignore,
      flowsCut: ignore,
      flowsFailed: ignore,
    },
    async cutFlows(flows) {
      cut.push(...flows)
      return 0
    },
  })
  loop.recompileAll()
  loop.setSynced()
  return { loop, changes, cut }
}

async function plan(rig: Rig, state: State, changes: readonly ClusterEvent[] = []) {
  const store = new ClusterStore()
  store.apply([...state.values()])
  const view = await rig.view()
  const now = rig.clock.now()
  const before = await rig.state()
  const run = await dryRun({ store, changes, mode: view, nodeContext: () => node, now })
  expect(await rig.state()).toEqual(before)
  return { run, keys: keysOf(run.change, view) }
}

function keysOf({ set, unset }: Change, view: Pick<ModeView, 'isInProcess'>) {
  const inKernel = (keys: readonly ObjectKey[]) =>
    keys.filter((key) => !view.isInProcess(key)).toSorted()
  return { set: inKernel(set), unset: inKernel(unset) }
}

async function pass({ clock }: Rig): Promise<void> {
  await clock.advance(1)
  await setImmediate()
}

const history = fc.record({
  before: someEvents,
  after: someEvents,
  harmed: fc.boolean(),
  restarts: fc.boolean(),
})

describe.each([
  ['iptables', iptablesRig, HISTORIES],
  // The fake of nf_tables is the slowest.
  ['nftables', nftablesRig, Math.ceil(HISTORIES / 8)],
  ['ipvs', ipvsRig, HISTORIES],
])('in mode %s', (_, open, histories) => {
  test(`a plan is what the next run applies, in ${histories} histories`, async () => {
    await fc.assert(
      fc.asyncProperty(history, async ({ before, after, harmed, restarts }) => {
        const rig = open()
        const state: State = new Map()
        remember(state, before)
        const first = daemon(rig, state)
        await pass(rig)
        if (restarts || harmed) await first.loop.stop()
        if (harmed) await rig.harm()
        if (restarts || harmed) remember(state, after)
        const planned = await plan(rig, state, restarts || harmed ? [] : after)
        if (!restarts && !harmed) remember(state, after)
        const count = first.changes.length
        const cuts = first.cut.length
        const next = restarts || harmed ? daemon(rig, state) : first
        if (next === first) first.loop.enqueue(after)
        await pass(rig)
        const [change] = next.changes.slice(next === first ? count : 0)
        const view = await rig.view()
        expect(planned.keys).toEqual(keysOf(change ?? { set: [], unset: [] }, view))
        expectFlows(planned.run, next.cut.slice(next === first ? cuts : 0), next === first)
        expect((await plan(rig, state)).keys).toEqual({ set: [], unset: [] })
        await next.loop.stop()
      }),
      { numRuns: histories },
    )
  }, 120_000)
})

/** A plan beside a running daemon has the flows of a start, too, which that one has deleted. */
function expectFlows({ flows }: DryRun, cut: readonly unknown[], isRunning: boolean): void {
  if (isRunning) expect(flows).toEqual(expect.arrayContaining([...cut]))
  else expect(flows).toEqual(cut)
}
