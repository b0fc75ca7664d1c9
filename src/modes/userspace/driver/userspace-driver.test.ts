import { expect, test } from 'vitest'
import { isDeepEqual } from '../../../lib/equal.ts'
import { NodeProxyError } from '../../../lib/error.ts'
import { FakeClock } from '../../../lib/testing/fake-clock.ts'
import type { NodeProxyConfiguration } from '../../../nodeproxy/config/fields/configuration.ts'
import { NO_RULES } from '../../../nodeproxy/kernel/rights.ts'
import { configuration, recordingLog } from '../../../nodeproxy/testing/wiring.ts'
import { ScriptedMode } from '../../../sync/testing/scripted-mode.ts'
import type { Missing } from '../../mode.ts'
import type { NetfilterAccess } from '../../netfilter/access.ts'
import type { ModeInputs } from '../../netfilter/settings/settings.ts'
import type { UserspaceSettings } from '../settings.ts'
import { FakeForwarder } from '../testing/fake-forwarder.ts'
import { bindMap } from './bind-map.ts'
import { UserspaceDriver } from './userspace-driver.ts'
import { DrainingForwarder, type UserspaceRuntime } from './userspace-runtime.ts'

const ROOT = { ok: true } as NetfilterAccess
const USER: NetfilterAccess = { ok: false, missing: NO_RULES }

function inputs(
  values: Readonly<Record<string, unknown>> = {},
): ModeInputs<NodeProxyConfiguration> {
  return {
    config: configuration({ mode: 'userspace', ...values }),
    node: undefined,
    facts: { families: [4, 6], hairpin: 'rules', randomFully: true, routesLocalnet: false },
    localAddresses: [],
  }
}

function bindings(...list: readonly string[]) {
  const read = bindMap.decode(list)
  return { 'userspace.bindMap': read.ok ? read.value : [] }
}

interface Opened extends UserspaceRuntime {
  readonly former: UserspaceRuntime | undefined
  /** Until when connections may stay. */
  closed: AbortSignal | undefined
  /** Until when new ones are taken. */
  stopAccepting: AbortSignal | undefined
  isDraining: boolean
}

/** Workers that are only counted. */
function rig(netfilter: NetfilterAccess = ROOT) {
  const clock = new FakeClock()
  const { log, lines } = recordingLog()
  const runtimes: Opened[] = []
  const built: UserspaceSettings[] = []
  const world = {
    missing: [] as Missing[],
    openError: undefined as Error | undefined,
    hasRuleMonitor: true,
  }
  const closing = Promise.withResolvers<void>()
  closing.resolve()
  const rig = { closing: closing.promise }
  const driver = new UserspaceDriver({
    netfilter,
    clock,
    log,
    view: async () => {
      throw new TypeError('nothing is to be read')
    },
    async open(_config, entry, former) {
      if (world.openError !== undefined) throw world.openError
      const runtime: Opened = {
        entry,
        former,
        closed: undefined,
        stopAccepting: undefined,
        isDraining: false,
        forwarder: new DrainingForwarder(new FakeForwarder()),
        hasRuleMonitor: world.hasRuleMonitor,
        suits: () => !runtime.isDraining,
        build(settings) {
          built.push(settings)
          const mode = new ScriptedMode()
          mode.probe = async () => ({ missing: world.missing, facts: { workers: '2' } })
          return mode
        },
        close({ stopAccepting, closeAll }) {
          runtime.closed = closeAll
          runtime.stopAccepting = stopAccepting
          return rig.closing
        },
      }
      runtimes.push(runtime)
      return runtime
    },
    leftovers: () => undefined,
  })
  return Object.assign(rig, { driver, clock, lines, runtimes, built, world })
}

test('with rights packets are redirected, without them it listens at its bindings', async () => {
  const root = rig()
  const { missing, facts } = await root.driver.prepare(inputs())
  expect([missing, facts]).toEqual([[], { entry: 'redirect', workers: '2' }])
  const user = rig(USER)
  await user.driver.prepare(inputs(bindings('127.0.0.1:80=a/b')))
  expect([...root.runtimes, ...user.runtimes].map(({ entry }) => entry)).toEqual([
    'redirect',
    'bind',
  ])
})

test('without rights and without an address nothing is opened', async () => {
  const { driver, runtimes } = rig(USER)
  const { missing } = await driver.prepare(inputs())
  expect(missing.map(({ code }) => code)).toEqual([
    'NP_USERSPACE_REDIRECT',
    'NP_USERSPACE_BIND_MAP',
  ])
  expect(runtimes).toEqual([])
  expect(() => driver.spec(inputs())).toThrow('not prepared')
})

test('what the kernel does not offer is reported, and the workers end', async () => {
  const { driver, runtimes, world } = rig()
  world.missing = [{ what: 'IPv4 sets of addresses', remedy: 'modprobe -a ip_set xt_set' }]
  expect((await driver.prepare(inputs())).missing).toEqual([
    {
      code: 'NP_USERSPACE_KERNEL',
      what: 'IPv4 sets of addresses',
      remedy: 'modprobe -a ip_set xt_set',
    },
  ])
  expect(runtimes.map(({ closed }) => closed?.aborted)).toEqual([true])
})

test('what was open before stays open', async () => {
  const { driver, runtimes, world } = rig()
  await driver.prepare(inputs())
  world.missing = [{ what: 'IPv4 sets of addresses', remedy: 'modprobe -a ip_set xt_set' }]
  await driver.prepare(inputs())
  expect(runtimes.map(({ closed }) => closed)).toEqual([undefined])
})

test('workers that cannot start are a missing requirement, a bug is none', async () => {
  const { driver, world } = rig()
  world.openError = new NodeProxyError('NP_X', 'cannot listen', { hint: 'free the port' })
  expect((await driver.prepare(inputs())).missing).toEqual([
    { code: 'NP_X', what: 'cannot listen', remedy: 'free the port' },
  ])
  world.openError = new TypeError('bug')
  await expect(driver.prepare(inputs())).rejects.toThrow('bug')
})

test.each([
  ['sees changes by other processes', true, 600_000],
  ['sees none', false, 9_000],
])(
  'everything is read again after a while, sooner where it %s',
  async (_, hasRuleMonitor, verify) => {
    const { driver, world } = rig()
    world.hasRuleMonitor = hasRuleMonitor
    const mine = inputs({ 'userspace.syncPeriod': 9_000, 'userspace.minSyncPeriod': 7 })
    await driver.prepare(mine)
    const { mode, minPeriodMs, verifyPeriodMs } = driver.spec(mine)
    expect([mode, minPeriodMs, verifyPeriodMs]).toEqual(['userspace', 7, verify])
    expect(driver.periods(mine.config).syncPeriod).toBe(9_000)
  },
)

test('other bindings make another mode over the same workers', async () => {
  const { driver, built, runtimes } = rig(USER)
  const [one, two] = ['127.0.0.1:80=a/b', '127.0.0.1:81=a/b'].map((text) => inputs(bindings(text)))
  await driver.prepare(one!)
  const [before, same, after] = [one!, one!, two!].map((each) => driver.spec(each))
  expect(isDeepEqual(before!.settings, same!.settings)).toBe(true)
  expect(isDeepEqual(before!.settings, after!.settings)).toBe(false)
  after!.build()
  expect(built.at(-1)).toMatchObject({
    listening: { bindings: new Map([['a/b/TCP', [{ ip: '127.0.0.1', port: 81 }]]]) },
  })
  expect(runtimes).toHaveLength(1)
})

test('only the first and the last binding make it look at the kernel again', () => {
  const { driver } = rig()
  const of = (...list: readonly string[]) => driver.demands(inputs(bindings(...list)).config)
  expect(of('127.0.0.1:80=a/b')).toEqual(of('127.0.0.1:81=a/c', '127.0.0.1:82=a/b'))
  expect(of()).not.toEqual(of('127.0.0.1:80=a/b'))
})

test('rules of an earlier run serve no client', async () => {
  expect(await rig().driver.isServing()).toBe(false)
})

test('so does another mark of own packets', () => {
  const { driver } = rig()
  const of = (bit: number) => driver.demands(inputs({ 'iptables.masqueradeBit': bit }).config)
  expect(of(14)).toEqual(of(15))
  expect(of(14)).not.toEqual(of(8))
})

test('at the end connections have the time that is in force then', async () => {
  const made = rig()
  const { driver, clock, lines, runtimes } = made
  const ended = Promise.withResolvers<void>()
  made.closing = ended.promise
  await driver.prepare(inputs({ 'userspace.shutdownTimeout': 60_000 }))
  driver.tune(configuration({ 'userspace.shutdownTimeout': 5_000 }))
  const closed = driver.close()
  await clock.advance(3_999)
  expect(runtimes[0]?.stopAccepting?.aborted).toBe(false)
  await clock.advance(1)
  expect(runtimes[0]?.stopAccepting?.aborted).toBe(true)
  await clock.advance(999)
  expect(runtimes[0]?.closed?.aborted).toBe(false)
  await clock.advance(1)
  expect(runtimes[0]?.closed?.aborted).toBe(true)
  ended.resolve()
  await closed
  await driver.close()
  expect(lines).toEqual([expect.stringMatching(/^info .*"shutdownTimeout":"5s"/)])
})

test('workers that do not suit any more are replaced, and end with the daemon', async () => {
  const { driver, runtimes } = rig()
  await driver.prepare(inputs())
  runtimes[0]!.isDraining = true
  await driver.prepare(inputs())
  expect(runtimes.map(({ closed }) => closed)).toEqual([undefined, undefined])
  expect(runtimes.map(({ former }) => former)).toEqual([undefined, runtimes[0]])
  await driver.close()
  expect(runtimes.map(({ closed }) => closed?.aborted)).toEqual([false, false])
})

test('where their successors cannot work, those at work stay', async () => {
  const { driver, runtimes, world } = rig()
  await driver.prepare(inputs())
  runtimes[0]!.isDraining = true
  world.missing = [{ what: 'IPv4 sets of addresses', remedy: 'modprobe -a ip_set xt_set' }]
  await driver.prepare(inputs())
  expect(runtimes.map(({ closed }) => closed?.aborted)).toEqual([undefined, true])
  expect(driver.spec(inputs()).mode).toBe('userspace')
})
