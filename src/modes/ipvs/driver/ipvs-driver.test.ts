import { expect, test } from 'vitest'
import { ip } from '../../../forwarding/testing/fixtures.ts'
import type { ModuleState } from '../../../kernel/kernel-modules.ts'
import { FakeModules } from '../../../kernel/testing/fake-modules.ts'
import { FakeSysctl } from '../../../kernel/testing/fake-sysctl.ts'
import { NodeProxyError } from '../../../lib/error.ts'
import { FakeClock } from '../../../lib/testing/fake-clock.ts'
import type { NodeProxyConfiguration } from '../../../nodeproxy/config/fields/configuration.ts'
import { configuration, recordingLog } from '../../../nodeproxy/testing/wiring.ts'
import { ScriptedMode } from '../../../sync/testing/scripted-mode.ts'
import type { Missing } from '../../mode.ts'
import type { ModeInputs } from '../../netfilter/settings/settings.ts'
import type { IpvsSettings } from '../settings.ts'
import { IpvsDriver } from './ipvs-driver.ts'
import { ipvsModules } from './missing-modules.ts'

const CONNTRACK = 'net/ipv4/vs/conntrack'
const SETTINGS = {
  [CONNTRACK]: '0',
  'net/ipv4/vs/expire_nodest_conn': '0',
  'net/ipv4/vs/expire_quiescent_template': '0',
  'net/ipv4/vs/conn_reuse_mode': '1',
  'net/ipv4/conf/all/arp_ignore': '0',
  'net/ipv4/conf/all/arp_announce': '0',
}

function inputs(
  values: Readonly<Record<string, unknown>> = {},
): ModeInputs<NodeProxyConfiguration> {
  return {
    config: configuration({ mode: 'ipvs', ...values }),
    node: undefined,
    facts: { families: [4, 6], hairpin: 'rules', randomFully: true, routesLocalnet: false },
    localAddresses: [ip('192.0.2.1')],
  }
}

/** A kernel in which everything stands, unless the test says otherwise. */
function rig(states: Readonly<Record<string, ModuleState>> = {}, release = '6.1.0-18-amd64') {
  const clock = new FakeClock()
  const { log, lines } = recordingLog()
  const sysctl = new FakeSysctl(SETTINGS)
  const present = ipvsModules('rr').map((name) => [name, 'loaded'] as const)
  const modules = new FakeModules({ ...Object.fromEntries(present), ...states })
  const world = {
    missing: [] as Missing[],
    hasIpvs: true,
    hasRuleMonitor: true,
    openError: undefined as Error | undefined,
  }
  const built: { mode: ScriptedMode; settings: IpvsSettings }[] = []
  const runtimes: { purpose: 'forwarding' | 'cleanup'; isOpen: boolean }[] = []
  const openFor = (purpose: 'forwarding' | 'cleanup') => async () => {
    if (world.openError !== undefined) throw world.openError
    const state = { purpose, isOpen: true }
    runtimes.push(state)
    return {
      hasRuleMonitor: world.hasRuleMonitor,
      build(settings: IpvsSettings) {
        const mode = new ScriptedMode()
        mode.probe = async () => ({ missing: world.missing, facts: { ipvs: '1.2.1' } })
        built.push({ mode, settings })
        return mode
      },
      close: async () => void (state.isOpen = false),
    }
  }
  const chains = new Set<string>()
  const listChain = async (_family: number, table: string, chain: string) =>
    chains.has(`${table} ${chain}`) ? [] : undefined
  const driver = new IpvsDriver({
    modules,
    sysctl,
    clock,
    log,
    release,
    iptables: { listChain },
    hasIpvs: () => world.hasIpvs,
    open: openFor('forwarding'),
    openForCleanup: openFor('cleanup'),
    view: async () => {
      throw new TypeError('nothing is to be read')
    },
  })
  return { driver, clock, lines, sysctl, modules, world, built, runtimes, chains }
}

test('where everything is there it is ready, and says with what', async () => {
  const { driver, modules, sysctl } = rig()
  const { missing, facts } = await driver.prepare(inputs())
  expect([missing, modules.loadRequests]).toEqual([[], []])
  expect(facts).toMatchObject({
    ipvs: '1.2.1',
    modules: { ip_vs: 'loaded', ip_vs_rr: 'loaded' },
    connReuseMode: expect.stringContaining('left as it is: Linux 6.1'),
  })
  expect(sysctl.writes).toEqual([CONNTRACK])
})

test('modules are loaded first, that of the configured scheduler too', async () => {
  const { driver, modules } = rig({ ip_vs: 'loadable', ip_vs_mh: 'loadable' })
  const { missing, facts } = await driver.prepare(inputs({ 'ipvs.scheduler': 'mh' }))
  expect(missing).toEqual([])
  expect(modules.loadRequests).toEqual([['ip_vs', 'ip_vs_mh']])
  expect(facts).toMatchObject({ modules: { ip_vs_mh: 'loaded' } })
})

test('a kernel without ip_vs: one requirement for each missing thing, and nothing stays open', async () => {
  const { driver, world, runtimes, sysctl } = rig({ ip_vs: 'absent', ip_vs_rr: 'absent' })
  world.missing = [
    { what: 'IP virtual servers: no ip_vs', remedy: 'load the kernel module: modprobe ip_vs' },
    {
      what: 'IPv4 sets of addresses: EPERM',
      remedy: 'load the kernel modules: modprobe -a ip_set xt_set',
    },
  ]
  const { missing } = await driver.prepare(inputs())
  expect(missing.map(({ what }) => what)).toEqual([
    'kernel module ip_vs does not exist for this kernel: modprobe: FATAL: Module not found',
    'kernel module ip_vs_rr does not exist for this kernel: modprobe: FATAL: Module not found',
    'IPv4 sets of addresses: EPERM',
  ])
  expect(new Set(missing.map(({ code }) => code))).toEqual(new Set(['NP_IPVS_MODULE_MISSING']))
  expect(missing[0]?.remedy).toMatch(/modprobe ip_vs$/)
  expect(runtimes).toEqual([{ purpose: 'forwarding', isOpen: false }])
  expect(sysctl.writes).toEqual([])
})

test('a module that is there and cannot be loaded has another remedy', async () => {
  const { driver, world, modules } = rig({ ip_vs: 'loadable' })
  modules.load = async (names) => ({
    states: await modules.states(names),
    loaded: [],
    errorText: 'modprobe: ERROR: could not insert ip_vs: Operation not permitted; modprobe: other',
  })
  world.missing = [{ what: 'IP virtual servers', remedy: 'modprobe ip_vs' }]
  const { missing } = await driver.prepare(inputs())
  expect(missing).toEqual([
    {
      code: 'NP_IPVS_MODULE_MISSING',
      what: 'kernel module ip_vs exists but could not be loaded: modprobe: ERROR: could not insert ip_vs: Operation not permitted',
      remedy: 'load it on the host, or run with CAP_SYS_MODULE: modprobe ip_vs',
    },
  ])
})

test('a scheduler that only waits for ip_vs is not missing itself', async () => {
  const { driver, world, modules } = rig()
  const states = new Map<string, ModuleState>([
    ['ip_vs', 'absent'],
    ['ip_vs_rr', 'loadable'],
  ])
  modules.load = async () => ({ states, loaded: [], errorText: '' })
  world.missing = [{ what: 'IP virtual servers', remedy: 'modprobe ip_vs' }]
  expect((await driver.prepare(inputs())).missing).toEqual([
    {
      code: 'NP_IPVS_MODULE_MISSING',
      what: 'kernel module ip_vs does not exist for this kernel',
      remedy: 'boot a kernel that has it, or install its modules; then: modprobe ip_vs',
    },
  ])
})

test('what the kernel can do counts, not what can be seen of its modules', async () => {
  const { driver } = rig(Object.fromEntries(ipvsModules('rr').map((name) => [name, 'unknown'])))
  expect((await driver.prepare(inputs())).missing).toEqual([])
})

test('where modules cannot be seen the kernel’s own answer is reported', async () => {
  const { driver, world } = rig({ ip_vs: 'unknown', ip_vs_rr: 'unknown' })
  const missing = { what: 'IP virtual servers: no ip_vs', remedy: 'modprobe ip_vs' }
  world.missing = [missing]
  expect((await driver.prepare(inputs())).missing).toEqual([
    { code: 'NP_IPVS_MODULE_MISSING', ...missing },
  ])
})

test('a kernel that refuses the request misses what its answer says', async () => {
  const { driver, world } = rig()
  world.openError = new NodeProxyError('NP_KERNEL_NETLINK', 'EPERM', { hint: 'be root' })
  const { missing } = await driver.prepare(inputs())
  expect(missing).toEqual([{ code: 'NP_IPVS_MODULE_MISSING', what: 'EPERM', remedy: 'be root' }])
})

test('without its connections in conntrack the mode cannot work', async () => {
  const { driver, sysctl, runtimes } = rig()
  sysctl.readOnly.add(CONNTRACK)
  const { missing } = await driver.prepare(inputs())
  expect(missing).toEqual([
    {
      code: 'NP_IPVS_CONNTRACK',
      what: expect.stringMatching(/^net\/ipv4\/vs\/conntrack is not 1 .*masqueraded/),
      remedy: 'set it on the host: sysctl -w net/ipv4/vs/conntrack=1',
    },
  ])
  expect(runtimes[0]?.isOpen).toBe(false)
})

test('a trial of another scheduler does not close what the mode at work uses', async () => {
  const { driver, world, runtimes } = rig()
  await driver.prepare(inputs())
  world.missing = [{ what: 'IPVS scheduler sh', remedy: 'modprobe ip_vs_sh' }]
  await driver.prepare(inputs({ 'ipvs.scheduler': 'sh' }))
  expect(runtimes).toEqual([{ purpose: 'forwarding', isOpen: true }])
  await driver.close()
  expect(runtimes[0]?.isOpen).toBe(false)
})

test('its spec follows its own settings and those of the node', async () => {
  const { driver, built, world } = rig()
  expect(() => driver.spec(inputs())).toThrow('not prepared')
  await driver.prepare(inputs())
  const spec = driver.spec(inputs({ 'ipvs.minSyncPeriod': 7, 'iptables.minSyncPeriod': 5 }))
  expect(spec).toMatchObject({ mode: 'ipvs', minPeriodMs: 7, verifyPeriodMs: 600_000 })
  spec.build()
  expect(built.at(-1)?.settings).toBe(spec.settings)
  expect(built.at(-1)?.settings.nodeAddresses).toEqual(['192.0.2.1'])
  expect(driver.periods(inputs({ 'ipvs.syncPeriod': 9_000 }).config).syncPeriod).toBe(9_000)
  world.hasRuleMonitor = false
  await driver.close()
  await driver.prepare(inputs())
  expect(driver.spec(inputs()).verifyPeriodMs).toBe(30_000)
})

test.each([
  ['rr and nothing are the same', {}, { 'ipvs.scheduler': 'rr' }, true],
  ['another scheduler', {}, { 'ipvs.scheduler': 'mh' }, false],
  ['another timeout', {}, { 'ipvs.tcpTimeout': 5 }, true],
])('what it demands: %s', (_, before, after, same) => {
  const { driver } = rig()
  const [a, b] = [before, after].map((values) => driver.demands(inputs(values).config))
  expect(JSON.stringify(a) === JSON.stringify(b)).toBe(same)
})

test.each([
  ['6.1.0', '1'],
  ['5.9.0', '1'],
  ['5.8.18-generic', '0'],
  ['4.19.0-26-amd64', '0'],
  ['4.1.0', '0'],
  ['4.0.9', '1'],
])('on Linux %s conn_reuse_mode is %s', async (release, value) => {
  const { driver, sysctl } = rig({}, release)
  driver.tune(inputs().config)
  expect(sysctl.values.get('net/ipv4/vs/conn_reuse_mode')).toBe(value)
  const { facts } = await driver.prepare(inputs())
  expect(facts['connReuseMode']).toContain(value === '0' ? 'by one second' : 'left as it is')
})

test('the kernel is tuned, and says why', () => {
  const { driver, sysctl, lines } = rig()
  driver.tune(inputs().config)
  expect(sysctl.writes).toEqual([
    CONNTRACK,
    'net/ipv4/vs/expire_nodest_conn',
    'net/ipv4/vs/expire_quiescent_template',
  ])
  expect(lines[1]).toMatch(/^info .*"why":"a connection whose backend is gone ends at once"/)
  driver.tune(inputs({ 'ipvs.strictARP': true }).config)
  expect(sysctl.writes.slice(3)).toEqual([
    'net/ipv4/conf/all/arp_ignore',
    'net/ipv4/conf/all/arp_announce',
  ])
})

test('a setting that cannot be written is a warning', () => {
  const { driver, sysctl, lines } = rig()
  sysctl.readOnly.add('net/ipv4/vs/expire_nodest_conn')
  driver.tune(inputs().config)
  expect(lines.filter((line) => line.startsWith('warn'))).toHaveLength(1)
  expect(sysctl.values.get('net/ipv4/vs/expire_quiescent_template')).toBe('1')
})

test('rules of an earlier run serve, where there is ip_vs', async () => {
  const { driver, chains, world } = rig()
  expect(await driver.isServing()).toBe(false)
  chains.add('nat NPVS-POSTROUTING')
  expect(await driver.isServing()).toBe(true)
  world.hasIpvs = false
  expect(await driver.isServing()).toBe(false)
})

test('what an earlier run left is removed with sockets of its own', async () => {
  const { driver, built, runtimes } = rig()
  const leftovers = driver.leftovers(() => inputs())
  const leaving = leftovers?.drainAndCleanup(new AbortController().signal)
  await leaving
  expect(built[0]?.mode.calls).toEqual(['drainAndCleanup'])
  expect(runtimes).toEqual([{ purpose: 'cleanup', isOpen: false }])
})

test('what drains in it shows while it does', async () => {
  const { driver, built } = rig()
  const leftovers = driver.leftovers(() => inputs())
  const { promise, resolve } = Promise.withResolvers<void>()
  const leaving = leftovers?.drainAndCleanup(new AbortController().signal)
  await Promise.resolve()
  Object.assign(built[0]!.mode, { draining: 4, duringCleanup: () => promise })
  expect(leftovers?.draining).toBe(4)
  resolve()
  await leaving
  expect(leftovers?.draining).toBe(0)
})

test('a kernel without ip_vs has no leftovers, and nothing is loaded for them', () => {
  const { driver, world, runtimes } = rig()
  world.hasIpvs = false
  expect([driver.leftovers(() => inputs()), runtimes]).toEqual([undefined, []])
})

test('a module that another process removed is loaded again, and its settings are made again', async () => {
  const { driver, modules, sysctl, lines } = rig()
  modules.known.set('ip_vs', 'loadable')
  await driver.recover(inputs().config)
  expect(modules.loadRequests).toEqual([['ip_vs']])
  expect(lines[0]).toMatch(/^warn .*"modules":\["ip_vs"\]/)
  expect(sysctl.writes).toContain(CONNTRACK)
})

test('a module that stays away is an error with its remedy, once a minute', async () => {
  const { driver, modules, lines, clock } = rig()
  modules.known.set('ip_vs', 'absent')
  for (const wait of [0, 30_000, 30_000]) {
    await clock.advance(wait)
    await driver.recover(inputs().config)
  }
  expect(lines).toHaveLength(2)
  expect(lines[0]).toMatch(/^error kernel module ip_vs .*"code":"NP_IPVS_MODULE_MISSING","remedy":/)
})

test('a failure of another kind leaves modules and settings alone', async () => {
  const { driver, modules, sysctl, lines } = rig()
  await driver.recover(inputs().config)
  expect([modules.loadRequests, sysctl.writes, lines]).toEqual([[], [], []])
})
