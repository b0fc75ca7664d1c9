import { expect, onTestFinished, test, vi } from 'vitest'
import { FakeConntrack } from '../../kernel/conntrack/testing/fake-conntrack.ts'
import { FakeSets } from '../../kernel/ipset/testing/fake-sets.ts'
import { FakeIptables } from '../../kernel/iptables/testing/fake-iptables.ts'
import { FakeAddresses } from '../../kernel/testing/fake-addresses.ts'
import { FakeListeners } from '../../kernel/testing/fake-listeners.ts'
import { FakeModules } from '../../kernel/testing/fake-modules.ts'
import { FakeSysctl } from '../../kernel/testing/fake-sysctl.ts'
import { noopTraces } from '../../kernel/traces.ts'
import type { ModeHost } from '../../modes/definition/mode-definition.ts'
import { MODES } from '../config/fields/mode-registry.ts'
import type { Kernel } from '../kernel/kernel.ts'
import { NO_RULES } from '../kernel/rights.ts'
import { configuration, recordingLog } from '../testing/wiring.ts'
import { driversOf, openModes } from './open-modes.ts'

const NAMES = MODES.map(({ name }) => name)

function rig() {
  const iptables = new FakeIptables()
  const modules = new FakeModules()
  const kernel: Kernel = {
    rights: { ok: true },
    netfilter: {
      ok: true,
      families: [4, 6],
      parts: { iptables, modules, sets: new FakeSets() },
    },
    families: [4, 6],
    conntrack: new FakeConntrack(),
    sysctl: new FakeSysctl(),
    addresses: new FakeAddresses(),
    listeners: new FakeListeners(),
    traces: noopTraces,
    close: async () => {},
  }
  return { kernel, iptables, modules, ...recordingLog() }
}

test('each registered mode has a driver, in the same order', () => {
  const { kernel, log } = rig()
  expect(driversOf(MODES, kernel, log).map(({ name }) => name)).toEqual(NAMES)
})

test('drivers get a clock that no step of the clock of the machine moves', () => {
  const { kernel, log } = rig()
  const hosts: ModeHost[] = []
  const [first] = MODES
  const createDriver = (host: ModeHost) => {
    hosts.push(host)
    return first.createDriver(host)
  }
  driversOf([{ ...first, createDriver }], kernel, log)
  vi.useFakeTimers({ toFake: ['Date'] })
  onTestFinished(() => void vi.useRealTimers())
  const before = hosts[0]!.clock.now()
  vi.setSystemTime(Date.now() + 3_600_000)
  expect(hosts[0]!.clock.now() - before).toBeLessThan(3_600_000)
})

test('without rights to write rules, a mode that writes them is refused with what is missing', async () => {
  const { kernel, log, lines } = rig()
  const no = { ok: false, missing: NO_RULES } as const
  const denied: Kernel = { ...kernel, rights: no, netfilter: no }
  expect(driversOf(MODES, denied, log).map(({ name }) => name)).toEqual(NAMES)
  await expect(openModes(denied, configuration({ mode: 'auto' }), { log })).rejects.toThrow(
    expect.objectContaining({ code: 'NP_NODEPROXY_UNPRIVILEGED' }),
  )
  expect(
    lines.filter((line) => line.startsWith('error')).map((line) => line.split(':')[0]),
  ).toEqual([
    'error mode nftables',
    'error mode ipvs',
    'error mode iptables',
    ...Array(2).fill(expect.stringMatching(/^error /)),
  ])
})

test('the extensions of iptables are detected once, whatever the mode', async () => {
  const { kernel, iptables, modules, log } = rig()
  iptables.refuse(/--random-fully|-m socket/)
  const { modes, facts } = await openModes(kernel, configuration(), { log })
  const can = {
    hairpin: 'bpf',
    randomFully: false,
    matchesSockets: false,
    searchesPortsInOrder: false,
  }
  expect(facts).toEqual({ families: [4, 6], ...can })
  expect(modes.current.name).toBe('iptables')
  expect(modules.loadRequests).toEqual([])
})
