import { expect, test } from 'vitest'
import { FakeAddresses } from '../../../kernel/addresses/fake-addresses.ts'
import { FakeConntrack } from '../../../kernel/conntrack/fake-conntrack.ts'
import { FakeSets } from '../../../kernel/ipset/fake-sets.ts'
import { FakeIptables } from '../../../kernel/iptables/fake-iptables.ts'
import { FakeListeners } from '../../../kernel/listener/fake-listeners.ts'
import { FakeModules } from '../../../kernel/modules/fake-modules.ts'
import { FakeMonitor } from '../../../kernel/nftables-monitor/fake-monitor.ts'
import { FakeSysctl } from '../../../kernel/sysctl/fake-sysctl.ts'
import { noTraces } from '../../../kernel/traces/no-traces.ts'
import { AVAILABLE_MODES } from '../../available-modes.ts'
import { configuration, recordingLog } from '../../testing/wiring.ts'
import type { Kernel } from '../kernel/kernel.ts'
import { NO_RULES } from '../kernel/rights.ts'
import { kindsOf, openModes } from './open-modes.ts'

function rig() {
  const iptables = new FakeIptables()
  const modules = new FakeModules()
  const kernel: Kernel = {
    netfilter: {
      ...{ ok: true, families: [4, 6] },
      parts: { iptables, modules, sets: new FakeSets(), monitor: new FakeMonitor() },
    },
    families: [4, 6],
    conntrack: new FakeConntrack(),
    sysctl: new FakeSysctl(),
    addresses: new FakeAddresses(),
    listeners: new FakeListeners(),
    traces: noTraces,
    close: async () => {},
  }
  return { kernel, iptables, modules, ...recordingLog() }
}

test('the modes that can be chosen are those that can be named', () => {
  const { kernel, log } = rig()
  expect(kindsOf(kernel, log).map(({ name }) => name)).toEqual(AVAILABLE_MODES)
})

test('without rules the modes that write them can be named too, and say what they lack', async () => {
  const { kernel, log, lines } = rig()
  const denied: Kernel = { ...kernel, netfilter: { ok: false, lack: NO_RULES } }
  expect(kindsOf(denied, log).map(({ name }) => name)).toEqual(AVAILABLE_MODES)
  await expect(openModes(denied, configuration({ mode: 'auto' }), log)).rejects.toThrow(
    expect.objectContaining({ code: 'NP_NODEPROXY_UNPRIVILEGED' }),
  )
  expect(
    lines.filter((line) => line.startsWith('error')).map((line) => line.split(':')[0]),
  ).toEqual([
    'error mode ipvs',
    'error mode iptables',
    ...Array(2).fill(expect.stringMatching(/^error /)),
  ])
})

test('what the kernel can do is found out by trying, once, whatever the mode', async () => {
  const { kernel, iptables, modules, log } = rig()
  iptables.refuse(/--random-fully|-m socket/)
  const { modes, facts } = await openModes(kernel, configuration(), log)
  const can = { hairpin: 'bpf', randomFully: false, matchesSockets: false }
  expect(facts).toEqual({ families: [4, 6], ...can })
  expect(modes.current.name).toBe('iptables')
  expect(modules.asked).toEqual([])
})
