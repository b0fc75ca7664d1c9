import { FakeConntrack } from '../../../src/kernel/conntrack/testing/fake-conntrack.ts'
import { FakeSets } from '../../../src/kernel/ipset/testing/fake-sets.ts'
import { FakeIptables } from '../../../src/kernel/iptables/testing/fake-iptables.ts'
import { FakeRoutes } from '../../../src/kernel/route/testing/fake-routes.ts'
import { FakeMonitor } from '../../../src/kernel/testing/fake-monitor.ts'
import { FakeClock } from '../../../src/lib/testing/fake-clock.ts'
import { ip, settings } from '../../../src/modes/testing/mode-fixtures.ts'
import { ForwarderState } from '../../../src/modes/userspace/forwarder-state.ts'
import { type RedirectKernel, UserspaceMode } from '../../../src/modes/userspace/mode.ts'
import type {
  TransparentListening,
  UserspaceSettings,
} from '../../../src/modes/userspace/settings.ts'
import { FakeForwarder } from '../../../src/modes/userspace/testing/fake-forwarder.ts'
import { driveMode } from './drive-mode.ts'

export function redirected(
  overrides: Partial<Omit<TransparentListening, 'kind'>> = {},
): UserspaceSettings {
  const nodeAddresses = [ip('192.0.2.10'), ip('fd00:2::10')]
  const listening = { kind: 'transparent', nodeAddresses } as const
  return { listening: { netfilter: settings(), ...listening, ...overrides }, balancing: 'rr' }
}

export interface FakeRedirectKernel extends RedirectKernel {
  readonly sets: FakeSets
  readonly routes: FakeRoutes
  readonly iptables: FakeIptables
  readonly monitor: FakeMonitor
  readonly clock: FakeClock
  readonly conntrack: FakeConntrack
}

/** A fake kernel whose whole state a test can read and set. */
export function fakeRedirectKernel(): FakeRedirectKernel {
  const sets = new FakeSets()
  const iptables = new FakeIptables({ sets, backend: 'legacy' })
  sets.isUsed = (name) => iptables.refersTo(name)
  return {
    sets,
    iptables,
    routes: new FakeRoutes(),
    monitor: new FakeMonitor(),
    clock: new FakeClock(),
    conntrack: new FakeConntrack(),
  }
}

interface FakeUserspaceNode {
  readonly kernel?: FakeRedirectKernel
  readonly forwarder?: FakeForwarder
  readonly given?: UserspaceSettings
}

/** The userspace mode over a fake kernel and forwarder, with everything between an entry and them. */
export function fakeUserspaceNode({
  kernel = fakeRedirectKernel(),
  forwarder = new FakeForwarder(),
  given = redirected(),
}: FakeUserspaceNode = {}) {
  const forwarderState = new ForwarderState(forwarder)
  const mode = new UserspaceMode(given, { forwarderState, kernel })
  return { kernel, forwarder, forwarderState, mode, ...driveMode(mode) }
}
