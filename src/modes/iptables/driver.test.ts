import { expect, test } from 'vitest'
import { FakeSets } from '../../kernel/ipset/testing/fake-sets.ts'
import { FakeIptables } from '../../kernel/iptables/testing/fake-iptables.ts'
import { noopMonitor } from '../../kernel/nftables/nftables-monitor.ts'
import { FakeMonitor } from '../../kernel/testing/fake-monitor.ts'
import type { NodeProxyConfiguration } from '../../nodeproxy/config/fields/configuration.ts'
import { configuration } from '../../nodeproxy/testing/wiring.ts'
import type { ModeInputs } from '../netfilter/settings/settings.ts'
import { iptablesDriver } from './driver.ts'

function rig(monitor: FakeMonitor | typeof noopMonitor = new FakeMonitor()) {
  const sets = new FakeSets()
  const iptables = new FakeIptables({ sets })
  return { iptables, driver: iptablesDriver({ iptables, sets, openMonitor: async () => monitor }) }
}

function inputs(
  values: Readonly<Record<string, unknown>> = {},
): ModeInputs<NodeProxyConfiguration> {
  const facts = {
    families: [4],
    hairpin: 'rules',
    randomFully: true,
    routesLocalnet: false,
  } as const
  return { config: configuration(values), node: undefined, facts, localAddresses: [] }
}

test('it is ready where the kernel takes its rules, and says what is missing where not', async () => {
  const { driver, iptables } = rig()
  expect((await driver.prepare(inputs())).missing).toEqual([])
  iptables.refuse(/-m statistic/)
  expect((await driver.prepare(inputs())).missing).toEqual([
    {
      code: 'NP_IPTABLES_KERNEL',
      what: expect.stringContaining('DNAT by random choice'),
      remedy: 'load the kernel modules: modprobe -a xt_statistic xt_nat',
    },
  ])
})

test.each([
  ['sees foreign changes', new FakeMonitor(), 600_000],
  ['sees none', noopMonitor, 9_000],
])(
  'everything is read again after a while, sooner where it %s',
  async (_, monitor, verifyPeriodMs) => {
    const { driver } = rig(monitor)
    await driver.prepare(inputs())
    const values = {
      'iptables.syncPeriod': 9_000,
      'iptables.minSyncPeriod': 7,
      'ipvs.syncPeriod': 1,
    }
    expect(driver.spec(inputs(values))).toMatchObject({
      mode: 'iptables',
      minPeriodMs: 7,
      verifyPeriodMs,
    })
    expect(driver.periods(inputs(values).config).syncPeriod).toBe(9_000)
  },
)

test('loopback is guarded where it serves node ports', () => {
  const { driver } = rig()
  expect(driver.loopbackGuards(inputs().config)).toBeUndefined()
  const { config } = inputs({ 'iptables.localhostNodePorts': true })
  expect(driver.loopbackGuards(config)).toContain('4/filter/NPROXY-MARTIANS')
})

test('rules of an earlier run serve, until they are removed as leftovers', async () => {
  const { driver, iptables } = rig()
  expect(await driver.isServing()).toBe(false)
  const mode = driver.spec(inputs()).build()
  await mode.apply({ set: [...mode.program.takeChanges().keys()], unset: [] })
  expect(await driver.isServing()).toBe(true)
  const leftovers = driver.leftovers(() => inputs())
  await leftovers?.drainAndCleanup(AbortSignal.abort())
  expect(await driver.isServing()).toBe(true)
  await leftovers?.drainAndCleanup(new AbortController().signal)
  expect(await driver.isServing()).toBe(false)
  const left = [...(await iptables.save(4, 'nat')).chains.keys()]
  expect([left.includes('PREROUTING'), left.filter((name) => name.startsWith('NPROXY-'))]).toEqual([
    true,
    [],
  ])
})
