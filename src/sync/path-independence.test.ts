import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  afterFreshStart,
  afterHistory,
  type State,
  someHistory,
  type World,
} from '../../test/support/sync/histories.ts'
import { FakeSets } from '../kernel/ipset/testing/fake-sets.ts'
import { FakeIptables, type InjectedFailure } from '../kernel/iptables/testing/fake-iptables.ts'
import { FakeMonitor } from '../kernel/testing/fake-monitor.ts'
import { IptablesMode } from '../modes/iptables/mode.ts'
import { ip, settings } from '../modes/testing/mode-fixtures.ts'

/**
 * The promise of the whole project: whatever happened before, the kernel ends up
 * as if the daemon had just been started.
 */
const HISTORIES = Number(process.env['NP_HISTORIES'] ?? 5_000)

const failure = fc.constantFrom<InjectedFailure>(
  { kind: 'refused' },
  { kind: 'locked' },
  { kind: 'timeout' },
  { kind: 'timeout', applied: true },
)

interface Kernel {
  readonly sets: FakeSets
  readonly iptables: FakeIptables
}

const world: World<Kernel, InjectedFailure> = {
  bareKernel() {
    const sets = new FakeSets()
    const iptables = new FakeIptables({ sets })
    sets.isUsed = (name) => iptables.refersTo(name)
    return { sets, iptables }
  },
  mode: (kernel) => new IptablesMode(settings(), { ...kernel, monitor: new FakeMonitor() }),
  inject: ({ iptables }, given) => iptables.failNext(given),
  heal: () => {},
  node: {
    name: 'here',
    zone: 'zone-a',
    addresses: { 4: [ip('192.168.0.2')], 6: [] },
    allowedExternalIPs: undefined,
    proxyName: undefined,
    affinityScope: 'service',
    drainSeconds: { TCP: 0, UDP: 0, SCTP: 0 },
  },
}

test(`any of ${HISTORIES} histories ends in the kernel state of a fresh start`, async () => {
  await fc.assert(
    fc.asyncProperty(someHistory(failure), async (steps) => {
      const state: State = new Map()
      const walked = await afterHistory(world, steps, state)
      const fresh = await afterFreshStart(world, state)
      expect(walked.failed).toEqual([])
      expect(walked.kernel.iptables.dump()).toBe(fresh.iptables.dump())
      expect((await walked.kernel.sets.names('')).toSorted()).toEqual(
        (await fresh.sets.names('')).toSorted(),
      )
    }),
    { numRuns: HISTORIES },
  )
}, 600_000)
