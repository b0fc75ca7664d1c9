import { expect, test } from 'vitest'
import { FakeAddresses } from '../../../kernel/addresses/fake-addresses.ts'
import { FakeConntrack } from '../../../kernel/conntrack/fake-conntrack.ts'
import { FakeSets } from '../../../kernel/ipset/fake-sets.ts'
import { FakeIptables } from '../../../kernel/iptables/fake-iptables.ts'
import { FakeListeners } from '../../../kernel/listener/fake-listeners.ts'
import { FakeModules } from '../../../kernel/modules/fake-modules.ts'
import { FakeMonitor } from '../../../kernel/nftables-monitor/fake-monitor.ts'
import { FakeSysctl } from '../../../kernel/sysctl/fake-sysctl.ts'
import { AVAILABLE_MODES } from '../../available-modes.ts'
import type { Kernel } from '../kernel.ts'
import { configuration, recordingLog } from '../wiring.fixture.ts'
import { kindsOf, openModes } from './open-modes.ts'

function rig() {
  const iptables = new FakeIptables()
  const modules = new FakeModules()
  const kernel: Kernel = {
    ...{ iptables, modules, families: [4, 6] },
    sets: new FakeSets(),
    conntrack: new FakeConntrack(),
    monitor: new FakeMonitor(),
    sysctl: new FakeSysctl(),
    addresses: new FakeAddresses(),
    listeners: new FakeListeners(),
    close: async () => {},
  }
  return { kernel, iptables, modules, ...recordingLog() }
}

test('the modes that can be chosen are those that can be named', () => {
  const { kernel, log } = rig()
  expect(kindsOf(kernel, log).map(({ name }) => name)).toEqual(AVAILABLE_MODES)
})

test('what the kernel can do is found out by trying, once, whatever the mode', async () => {
  const { kernel, iptables, modules, log } = rig()
  iptables.refuse(/--random-fully/)
  const { modes, facts } = await openModes(kernel, configuration(), log)
  expect(facts).toEqual({ families: [4, 6], hairpin: 'bpf', randomFully: false })
  expect(modes.current.name).toBe('iptables')
  expect(modules.asked).toEqual([])
})
