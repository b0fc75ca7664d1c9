import { expect, test } from 'vitest'
import { FakeSets } from '../../../kernel/ipset/fake-sets.ts'
import { FakeIptables } from '../../../kernel/iptables/fake-iptables.ts'
import { deafMonitor } from '../../../kernel/nftables-monitor/deaf-monitor.ts'
import { FakeMonitor } from '../../../kernel/nftables-monitor/fake-monitor.ts'
import { configuration } from '../../testing/wiring.ts'
import { iptablesKind } from './iptables.ts'
import type { Situation } from './mode-kind.ts'

function rig(monitor: FakeMonitor | typeof deafMonitor = new FakeMonitor()) {
  const sets = new FakeSets()
  const iptables = new FakeIptables({ sets })
  return { iptables, kind: iptablesKind({ iptables, sets, monitor }) }
}

function situation(values: Readonly<Record<string, unknown>> = {}): Situation {
  const facts = {
    families: [4],
    hairpin: 'rules',
    randomFully: true,
    routesLocalnet: false,
  } as const
  return { config: configuration(values), node: undefined, facts, localAddresses: [] }
}

test('it is ready where the kernel takes its rules, and says what is missing where not', async () => {
  const { kind, iptables } = rig()
  expect((await kind.prepare(situation())).lacks).toEqual([])
  iptables.refuse(/-m statistic/)
  expect((await kind.prepare(situation())).lacks).toEqual([
    {
      code: 'NP_IPTABLES_KERNEL',
      what: expect.stringContaining('DNAT by random choice'),
      remedy: 'load the kernel module: modprobe xt_statistic xt_nat',
    },
  ])
})

test.each([
  ['hears others', new FakeMonitor(), 600_000],
  ['is deaf', deafMonitor, 9_000],
])('everything is read again after a while, sooner where it %s', (_, monitor, verifyPeriodMs) => {
  const { kind } = rig(monitor)
  const values = { 'iptables.syncPeriod': 9_000, 'iptables.minSyncPeriod': 7, 'ipvs.syncPeriod': 1 }
  expect(kind.blueprint(situation(values))).toMatchObject({
    mode: 'iptables',
    minPeriodMs: 7,
    verifyPeriodMs,
  })
  expect(kind.periods(situation(values).config).syncPeriod).toBe(9_000)
})

test('loopback is guarded where it serves node ports', () => {
  const { kind } = rig()
  expect(kind.loopbackGuards(situation().config)).toBeUndefined()
  const { config } = situation({ 'iptables.localhostNodePorts': true })
  expect(kind.loopbackGuards(config)).toContain('4/filter/NPROXY-MARTIANS')
})

test('rules of an earlier run serve, until they are removed as leftovers', async () => {
  const { kind, iptables } = rig()
  expect(await kind.isServing()).toBe(false)
  const mode = kind.blueprint(situation()).build()
  await mode.apply({ set: [...mode.program.takeChanges().keys()], unset: [] })
  expect(await kind.isServing()).toBe(true)
  const leftovers = kind.leftovers(() => situation())
  await leftovers?.retire(AbortSignal.abort())
  expect(await kind.isServing()).toBe(true)
  await leftovers?.retire(new AbortController().signal)
  expect(await kind.isServing()).toBe(false)
  const left = [...(await iptables.save(4, 'nat')).chains.keys()]
  expect([left.includes('PREROUTING'), left.filter((name) => name.startsWith('NPROXY-'))]).toEqual([
    true,
    [],
  ])
})
