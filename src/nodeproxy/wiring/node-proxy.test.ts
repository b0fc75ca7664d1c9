import { expect, test } from 'vitest'
import type { ApiClient } from '../../client/http/api-client.ts'
import { createProgress } from '../../client/reflector/reflector-state.ts'
import { silentReporter } from '../../client/testing/silent-reporter.ts'
import { cidr, ip } from '../../forwarding/testing/fixtures.ts'
import { FakeConntrack } from '../../kernel/conntrack/testing/fake-conntrack.ts'
import { FakeIptables } from '../../kernel/iptables/testing/fake-iptables.ts'
import { FakeAddresses } from '../../kernel/testing/fake-addresses.ts'
import { FakeListeners } from '../../kernel/testing/fake-listeners.ts'
import { FakeSysctl } from '../../kernel/testing/fake-sysctl.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import type { ObjectKey } from '../../modes/mode.ts'
import type { ModeInputs } from '../../modes/netfilter/settings/settings.ts'
import { type FakeDriver, fakeDriver } from '../../modes/testing/fake-driver.ts'
import { listenErrors, reviewBindings } from '../../modes/userspace/driver/binding-conditions.ts'
import { objectOf, serviceEvents } from '../../sync/testing/rig.ts'
import { ScriptedMode } from '../../sync/testing/scripted-mode.ts'
import { Conditions } from '../../telemetry/health/conditions.ts'
import { createMetrics } from '../../telemetry/metrics/metrics.ts'
import type { WatchState } from '../../watch/cluster-watcher.ts'
import type { NodeProxyConfiguration } from '../config/fields/configuration.ts'
import { LoopbackRouting } from '../loopback/loopback-routing.ts'
import { configuration, recordingLog } from '../testing/wiring.ts'
import { NodeProxy } from './node-proxy.ts'

const LOCALNET = 'net/ipv4/conf/all/route_localnet'

/** A daemon between watch and pages, with two modes; the first is at work. */
async function rig(
  prepare: (
    drivers: { one: FakeDriver<NodeProxyConfiguration>; two: FakeDriver<NodeProxyConfiguration> },
    kernel: { sysctl: FakeSysctl },
  ) => void = () => {},
) {
  const clock = new FakeClock()
  /** By how much the machine's clock was set forward, in milliseconds. */
  const step = { ms: 0 }
  const { log, lines } = recordingLog()
  const built: Record<'one' | 'two', ScriptedMode[]> = { one: [], two: [] }
  const allInputs: ModeInputs<NodeProxyConfiguration>[] = []
  const left: AbortSignal[] = []
  const kindOf = (name: 'one' | 'two') =>
    fakeDriver<NodeProxyConfiguration>(name, {
      build() {
        const mode = new ScriptedMode()
        Object.assign(mode, { name })
        built[name].push(mode)
        return mode
      },
      leftovers: (inputs) => ({
        async drainAndCleanup(signal) {
          allInputs.push(inputs())
          left.push(signal)
        },
      }),
    })
  const drivers = { one: kindOf('one'), two: kindOf('two') }
  const all = [drivers.one, drivers.two]
  const modes = {
    current: drivers.one,
    get others() {
      return all.filter((driver) => driver !== modes.current)
    },
    named: (name: string) => all.find((driver) => driver.name === name),
  }
  const kernel = {
    families: [4, 6] as const,
    conntrack: new FakeConntrack(),
    sysctl: new FakeSysctl({ [LOCALNET]: '0' }),
    addresses: new FakeAddresses(),
    listeners: new FakeListeners(),
  }
  prepare(drivers, kernel)
  const config = { current: configuration({ healthzBindAddress: undefined }) }
  const iptables = new FakeIptables()
  const loopback = new LoopbackRouting({ sysctl: kernel.sysctl, iptables: [iptables], log })
  const metrics = createMetrics()
  const conditions = new Conditions({ log, metrics })
  const proxy = await NodeProxy.create({
    modes,
    kernel,
    log,
    clock: {
      now: () => clock.now() + step.ms,
      after: (ms: number, task: () => void) => clock.after(ms, task),
    },
    steadyClock: clock,
    nodeName: 'here',
    configuration: config,
    client: { create: async () => ({ ok: true }) } as unknown as ApiClient,
    apiFailures: silentReporter,
    metrics,
    conditions,
    loopback,
    facts: { families: [4, 6], hairpin: 'rules', randomFully: true },
  })
  const watch: WatchState = {
    synced: true,
    endpointsApi: 'v1',
    discoveryFailure: undefined,
    endpoints: undefined,
    services: createProgress('/api/v1/services', 0),
    node: createProgress('/api/v1/nodes', 0),
  }
  const listed = async () => {
    proxy.take(serviceEvents('s1'), () => watch)
    proxy.start()
    await clock.advance(0)
  }
  const parts = { proxy, drivers, modes, kernel, built, allInputs, left, lines, clock, step }
  return { ...parts, listed, config, conditions, watch, iptables }
}

test('after a restart other modes leave once everything stands, and not before', async () => {
  const { proxy, built, left, listed, clock } = await rig()
  const { promise, resolve } = Promise.withResolvers<void>()
  const start = listed()
  built.one[0]!.duringApply = () => promise
  await start
  expect([built.one[0]?.kernel.has(objectOf('s1')), left.length]).toEqual([true, 0])
  resolve()
  await clock.advance(0)
  expect(left).toHaveLength(1)
  expect(proxy.modeName).toBe('one')
})

test.each([3_600_000, -3_600_000])(
  'a change is written as soon as before when the clock was set by %i ms',
  async (ms) => {
    const { proxy, built, listed, clock, step, watch } = await rig()
    await listed()
    step.ms = ms
    proxy.take(serviceEvents('s2'), () => watch)
    await clock.advance(1_000)
    expect(built.one[0]?.kernel.has(objectOf('s2'))).toBe(true)
  },
)

test.each(['one', 'two'] as const)('rules of an earlier run in mode %s serve', async (name) => {
  const { proxy } = await rig((drivers) => {
    drivers[name].serving = true
  })
  expect(proxy.health.report().serving).toBe(true)
})

test('without rules of an earlier run the node does not serve before the first run', async () => {
  const { proxy } = await rig()
  expect(proxy.health.report().serving).toBe(false)
})

test('another mode takes over, is tuned, and what drains in the old one shows', async () => {
  const { proxy, drivers, modes, built, clock, listed, config } = await rig()
  await listed()
  const draining = Promise.withResolvers<void>()
  Object.assign(built.one[0]!, { draining: 2, duringCleanup: () => draining.promise })
  modes.current = drivers.two
  proxy.reconfigure()
  await clock.advance(0)
  expect([proxy.modeName, proxy.draining]).toEqual(['two', 2])
  expect(drivers.two.tuned).toEqual([config.current])
  expect(built.two[0]?.kernel.size).toBe(1)
  draining.resolve()
  await clock.advance(0)
  expect([proxy.draining, built.one[0]?.kernel.size]).toEqual([0, 0])
})

test('before the cluster is listed the mode is the one that is to be', async () => {
  const { proxy, modes, drivers } = await rig()
  modes.current = drivers.two
  expect(proxy.modeName).toBe('two')
})

test('addresses of this node are part of what a mode is built from', async () => {
  const { kernel, built, clock, allInputs, listed } = await rig()
  await listed()
  const address = { family: 4, ip: ip('192.0.2.1'), device: 'eth0' } as const
  kernel.addresses.set([{ ...address, scope: 'global' }])
  await clock.advance(0)
  expect(built.one).toHaveLength(2)
  expect(allInputs[0]?.facts.routesLocalnet).toBe(false)
})

test('Service ranges are part of what a mode is built from', async () => {
  const { proxy, built, clock, watch, listed } = await rig()
  await listed()
  const value = [cidr('10.96.0.0/12')]
  proxy.take([{ kind: 'serviceCIDR', name: 'kubernetes', value }], () => watch)
  await clock.advance(0)
  expect(built.one).toHaveLength(2)
  expect(proxy.node.modeInputs.serviceCIDRs).toEqual(value)
})

test('a failure makes the mode check the kernel', async () => {
  const { drivers, built, listed, clock } = await rig()
  await listed()
  expect(drivers.one.calls.recover).toBe(0)
  built.one[0]!.observeErrors.push(new Error('no ip_vs'))
  built.one[0]!.reportForeign({ keys: 'all', by: 'another process' })
  await clock.advance(1_000)
  expect(drivers.one.calls.recover).toBe(1)
})

test.each([
  ['when its guards stand', [objectOf('s1')], '1'],
  ['not before', [objectOf('s2')], '0'],
])('loopback is routed %s', async (_, guards: readonly ObjectKey[], value) => {
  const { kernel, listed } = await rig((drivers) => {
    drivers.one.loopbackGuards = () => guards
  })
  await listed()
  expect(kernel.sysctl.read(LOCALNET)).toBe(value)
})

test('loopback stays open until a mode that does not need it holds everything', async () => {
  const { proxy, modes, drivers, built, clock, kernel, listed, iptables } = await rig(({ one }) => {
    one.loopbackGuards = () => [objectOf('s1')]
  })
  await listed()
  const guarded = async () => (await iptables.listChain(4, 'filter', 'INPUT'))?.length
  expect([kernel.sysctl.read(LOCALNET), await guarded()]).toEqual(['1', 1])
  const written = Promise.withResolvers<void>()
  modes.current = drivers.two
  proxy.reconfigure()
  built.two[0]!.duringApply = () => written.promise
  await clock.advance(0)
  expect([kernel.sysctl.read(LOCALNET), await guarded()]).toEqual(['1', 1])
  written.resolve()
  await clock.advance(0)
  expect([kernel.sysctl.read(LOCALNET), await guarded()]).toEqual(['0', 0])
})

test('loopback is closed when the field is turned off', async () => {
  const { proxy, drivers, clock, kernel, listed } = await rig(({ one }) => {
    one.loopbackGuards = () => [objectOf('s1')]
  })
  await listed()
  drivers.one.loopbackGuards = () => undefined
  proxy.reconfigure()
  await clock.advance(0)
  expect(kernel.sysctl.read(LOCALNET)).toBe('0')
})

test('a loopback that is open at the start is guarded before the cluster is listed', async () => {
  const { iptables } = await rig((_, { sysctl }) => void sysctl.values.set(LOCALNET, '1'))
  expect(await iptables.listChain(4, 'filter', 'INPUT')).toEqual(['-j NPGUARD-FOUND'])
})

test('a mode that does not need it leaves loopback alone', async () => {
  const { kernel, listed } = await rig()
  await listed()
  expect(kernel.sysctl.writes).toEqual([])
})

const messagesOf = ({ conditions }: { readonly conditions: Conditions }) =>
  conditions.current().map(({ message }) => message)

test('a Node object without addresses is a condition, from the listing until it has some', async () => {
  const all = await rig()
  const { proxy, config, conditions, listed, watch } = all
  config.current = configuration({ nodePortAddresses: 'primary' })
  proxy.reconfigure()
  expect(conditions.current()).toEqual([])
  await listed()
  expect(messagesOf(all)).toEqual([expect.stringContaining('Node "here" does not exist')])
  const value = { name: 'here', zone: undefined, podCIDRs: [], leaving: false }
  const nodeHas = (addresses: readonly string[]) =>
    proxy.take(
      [{ kind: 'node', name: 'here', value: { ...value, addresses: addresses.map(ip) } }],
      () => watch,
    )
  nodeHas([])
  expect(messagesOf(all)).toEqual([expect.stringContaining('Node "here" has no InternalIP')])
  nodeHas(['192.0.2.1'])
  expect(conditions.current()).toEqual([])
  proxy.take([{ kind: 'node', name: 'here', value: undefined }], () => watch)
  expect(conditions.current()).toHaveLength(1)
  config.current = configuration()
  proxy.reconfigure()
  expect(conditions.current()).toEqual([])
})

test('a refused object is a condition until the kernel accepts it', async () => {
  const all = await rig()
  const { built, drivers, listed, clock, proxy, modes } = all
  const start = listed()
  built.one[0]!.refused.set(objectOf('s1'), { code: 'NP_X', message: 'no space' })
  await start
  expect(messagesOf(all)).toEqual([expect.stringMatching(/^the kernel refuses .*NP_X: no space/)])
  built.one[0]!.refused.clear()
  await clock.advance(1_000)
  expect(all.conditions.current()).toEqual([])
  modes.current = drivers.two
  proxy.reconfigure()
})

test('bindings that name nothing are a condition while their mode is at work', async () => {
  const all = await rig((drivers) => {
    drivers.one.review = {
      ...listenErrors,
      services: (conditions, { config, isAtWork, serviceOf }) =>
        reviewBindings(conditions, {
          config,
          serviceOf,
          bindings: isAtWork ? config.userspace.bindMap : undefined,
        }),
    }
  })
  const bindMap = [{ ip: ip('127.0.0.1'), port: 8080, service: 'ns/none', protocol: 'TCP' }]
  all.config.current = configuration({ 'userspace.bindMap': bindMap })
  await all.listed()
  expect(messagesOf(all)).toEqual([expect.stringContaining('127.0.0.1:8080=ns/none')])
  all.modes.current = all.drivers.two
  all.proxy.reconfigure()
  await all.clock.advance(0)
  expect(all.conditions.current()).toEqual([])
})

test('one record says that the rules are in the kernel for the first time', async () => {
  const { lines, listed, modes, drivers, proxy, clock } = await rig()
  const records = () => lines.filter((line) => line.includes('in the kernel for the first time'))
  const start = listed()
  expect(records()).toEqual([])
  await start
  expect(records()).toHaveLength(1)
  const [record = ''] = records()
  expect(JSON.parse(record.slice(record.indexOf('{')))).toEqual({
    mode: 'one',
    services: 1,
    entries: 1,
    frontends: 1,
    endpoints: 1,
    objects: 1,
    refused: 0,
    secondsSinceStart: expect.any(Number),
  })
  modes.current = drivers.two
  proxy.reconfigure()
  await clock.advance(0)
  expect(records()).toHaveLength(1)
})

test('after the end no mode watches and nothing is cleaned up', async () => {
  const { proxy, built, listed, left, clock } = await rig()
  await listed()
  await proxy.stop()
  expect([built.one[0]?.isWatched, left.length]).toEqual([false, 1])
  await clock.advance(60_000)
  expect(left).toHaveLength(1)
})

test('a mode that needs this process leaves new connections to another one at the end', async () => {
  const { proxy, built, listed, lines, drivers, clock } = await rig((all) => {
    Object.assign(all.one, { standIn: 'two' })
  })
  await listed()
  const stopped = proxy.stop()
  await clock.advance(0)
  await stopped
  expect(built.one[0]?.calls.at(-1)).toBe('takeNoMore')
  expect(built.two[0]?.kernel.size).toBe(1)
  expect([built.two[0]?.isWatched, drivers.two.tuned.length]).toEqual([false, 1])
  expect(lines.at(-1)).toContain('another mode forwards new connections until node-proxy runs')
})

const NO_MODULE = {
  code: 'NP_NODEPROXY_MODE_UNAVAILABLE',
  what: 'no module',
  remedy: 'load it',
} as const

test.each([
  ['the kernel lacks something', async () => ({ missing: [NO_MODULE], facts: {} })],
  ['its probe fails', () => Promise.reject(new NodeProxyError('NP_KERNEL_NETLINK', 'no answer'))],
])('where the other mode cannot stand in, because %s, the log says so', async (_, prepare) => {
  const { proxy, built, listed, lines, drivers } = await rig((all) => {
    Object.assign(all.one, { standIn: 'two' })
  })
  await listed()
  Object.assign(drivers.two, { prepare })
  await proxy.stop()
  expect([built.two, built.one[0]?.isWatched]).toEqual([[], false])
  expect(built.one[0]?.calls).not.toContain('takeNoMore')
  expect(lines.at(-1)).toMatch(/^(warn|error) new connections wait until node-proxy runs again/)
})
