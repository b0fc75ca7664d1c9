import { describe, expect, it, test } from 'vitest'
import type { ApiClient } from '../../../client/http/api-client.ts'
import { createProgress } from '../../../client/reflector/reflector-state.ts'
import { silentReporter } from '../../../client/testing/silent-reporter.ts'
import { FakeConntrack } from '../../../kernel/conntrack/testing/fake-conntrack.ts'
import { FakeSets } from '../../../kernel/ipset/testing/fake-sets.ts'
import { FakeIptables } from '../../../kernel/iptables/testing/fake-iptables.ts'
import { FakeAddresses } from '../../../kernel/testing/fake-addresses.ts'
import { FakeListeners } from '../../../kernel/testing/fake-listeners.ts'
import { FakeModules } from '../../../kernel/testing/fake-modules.ts'
import { FakeSysctl } from '../../../kernel/testing/fake-sysctl.ts'
import { noopTraces } from '../../../kernel/traces.ts'
import { FakeClock } from '../../../lib/testing/fake-clock.ts'
import { type ToyWorld, toyMode } from '../../../modes/testing/toy/definition.ts'
import { helpText } from '../../../settings/help.ts'
import { objectOf, serviceEvents } from '../../../sync/testing/rig.ts'
import { ScriptedMode } from '../../../sync/testing/scripted-mode.ts'
import { Conditions } from '../../../telemetry/health/conditions.ts'
import { createMetrics } from '../../../telemetry/metrics/metrics.ts'
import type { WatchState } from '../../../watch/cluster-watcher.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import { LoopbackRouting } from '../../loopback/loopback-routing.ts'
import { removalsOf } from '../../modes/clean-up.ts'
import { openModes } from '../../modes/open-modes.ts'
import { checkStart } from '../../process/check-start.ts'
import { runProgram } from '../../program.ts'
import { recordingLog } from '../../testing/wiring.ts'
import { NodeProxy } from '../../wiring/node-proxy.ts'
import { configurationDocument } from '../document.ts'
import type { Launch } from '../load.ts'
import { settingsTableOf } from '../settings-table.ts'
import { chooseModes, MODES } from './mode-registry.ts'

/** The registry with one more line. */
function rig() {
  const mode = Object.assign(new ScriptedMode(), { name: 'toy' })
  const world: ToyWorld = { calls: [], build: () => mode }
  const modes = [...MODES, toyMode(world)]
  return { world, mode, modes, table: settingsTableOf(modes) }
}

/** What the program makes of arguments: the configuration that it starts with, and what it prints. */
async function launched({ modes, table }: ReturnType<typeof rig>, ...args: string[]) {
  const launches: Launch[] = []
  let printed = ''
  const daemon = {
    runDaemon: async (_config: unknown, launch: Launch) => void launches.push(launch),
  }
  const code = await runProgram(args, {
    stdout: { write: (text) => (printed += text) },
    stderr: { write: (text) => (printed += text) },
    logStream: { write: () => {} },
    version: '1.2.3',
    modes: modes.map(({ name }) => name),
    table,
    loadDaemon: async () => ({
      runDaemon: async (config, launch) => {
        await daemon.runDaemon(config, launch)
        return 0
      },
      cleanUp: async () => 0,
    }),
  })
  return { code, printed, config: launches[0]?.config }
}

function fakeKernel(): Kernel {
  return {
    rights: { ok: true },
    netfilter: {
      ok: true,
      families: [4, 6],
      parts: { iptables: new FakeIptables(), modules: new FakeModules(), sets: new FakeSets() },
    },
    families: [4, 6],
    conntrack: new FakeConntrack(),
    sysctl: new FakeSysctl({ 'net/ipv4/conf/all/route_localnet': '0' }),
    addresses: new FakeAddresses(),
    listeners: new FakeListeners(),
    traces: noopTraces,
    close: async () => {},
  }
}

test('a mode of the registry brings its flags, its help and its rows of the documents', async () => {
  const all = rig()
  const { code, config } = await launched(all, '--proxy-mode=toy', '--toy-greeting=ahoy')
  expect([code, config]).toMatchObject([0, { mode: 'toy', toy: { greeting: 'ahoy' } }])
  expect(helpText(all.table)).toMatch(/--toy-greeting.*\n.*What the toy says/)
  expect(helpText(all.table)).toMatch(/else\s+iptables,\s+else\s+userspace,\s+else\s+toy;/)
  expect(configurationDocument(all.table)).toMatch(/\| `toy.greeting` \|/)
  expect((await launched(all, '--proxy-mode=toy', '--toy-greeting=bye')).printed).toMatch(
    /a greeting that takes leave/,
  )
  expect((await launched(all, '--toy-min-sync-period=40000')).printed).toMatch(/is longer than/)
})

test('without its line nothing of it is known', async () => {
  const all = { ...rig(), modes: [...MODES], table: settingsTableOf(MODES) }
  expect((await launched(all, '--toy-greeting=ahoy')).code).toBe(2)
  expect((await launched(all, '--proxy-mode=toy')).code).toBe(2)
})

async function toyConfiguration(all: ReturnType<typeof rig>, ...args: string[]) {
  const { config } = await launched(all, '--proxy-mode=toy', '--healthz-bind-address=', ...args)
  return config ?? expect.unreachable('the program did not start')
}

test('its requirements are probed, and what is missing ends the start', async () => {
  const all = rig()
  const { log, lines } = recordingLog()
  const config = await toyConfiguration(all, '--toy-greeting=ahoy')
  const rights = { netAdmin: false }
  const check = await checkStart(config, { rights, connect: undefined, modes: all.modes })
  expect(check.ok).toBe(true)
  all.world.missing = 'no spring'
  const opening = openModes(fakeKernel(), config, { log, modes: all.modes })
  await expect(opening).rejects.toThrow(expect.objectContaining({ code: 'NP_TOY' }))
  expect(lines).toContainEqual(expect.stringMatching(/^error no spring .*wind it up/))
  expect(all.world.calls).toEqual(['probe ahoy'])
})

test('the daemon runs it: a Service reaches its kernel', async () => {
  const all = rig()
  const { log } = recordingLog()
  const clock = new FakeClock()
  const kernel = fakeKernel()
  const config = await toyConfiguration(all)
  const open = await openModes(kernel, config, { log, modes: all.modes })
  const metrics = createMetrics()
  const proxy = await NodeProxy.create({
    ...open,
    kernel,
    log,
    clock,
    steadyClock: clock,
    metrics,
    nodeName: 'here',
    configuration: { current: config },
    client: { create: async () => ({ ok: true }) } as unknown as ApiClient,
    apiFailures: silentReporter,
    conditions: new Conditions({ log, metrics }),
    loopback: new LoopbackRouting({ sysctl: kernel.sysctl, iptables: [], log }),
  })
  const watch: WatchState = {
    synced: true,
    endpointsApi: 'v1',
    discoveryFailure: undefined,
    endpoints: undefined,
    services: createProgress('/api/v1/services', 0),
    node: createProgress('/api/v1/nodes', 0),
  }
  proxy.take(serviceEvents('s1'), () => watch)
  proxy.start()
  await clock.advance(0)
  expect(proxy.modeName).toBe('toy')
  expect(all.mode.kernel.has(objectOf('s1'))).toBe(true)
  await proxy.stop()
  await open.modes.close()
  expect(all.world.calls).toEqual(['probe hello', 'build hello', 'close'])
})

test('--cleanup removes it, stage by stage after those of every mode', async () => {
  const all = rig()
  const config = await toyConfiguration(all)
  const sets = new FakeSets()
  const host = { iptables: new FakeIptables({ sets }), sets, clock: new FakeClock(), config }
  const [toy] = all.modes.slice(-1)
  for (const removal of removalsOf([toy!], [{ ...host, families: [4] }])) await removal()
  expect(all.world.calls).toEqual(['cleanup rules', 'cleanup sets'])
  const [iptables] = MODES.filter(({ name }) => name === 'iptables')
  const stages = removalsOf([iptables!, toy!], [{ ...host, families: [4] }])
  await stages[1]?.()
  expect(all.world.calls.slice(2)).toEqual(['cleanup rules'])
})

describe('chooseModes', () => {
  it('returns iptables for an empty mode, and all modes for auto', () => {
    expect(chooseModes('', ['iptables'])).toEqual(['iptables'])
    expect(chooseModes('iptables', ['ipvs', 'iptables'])).toEqual(['iptables'])
    expect(chooseModes('auto', ['ipvs', 'iptables'])).toEqual(['ipvs', 'iptables'])
  })

  it('throws an error with the available modes for one that is not available', () => {
    expect(() => chooseModes('ipvs', ['iptables'])).toThrow(
      expect.objectContaining({
        code: 'NP_NODEPROXY_MODE_UNAVAILABLE',
        hint: 'set mode (--proxy-mode) to one of: iptables, auto',
      }),
    )
  })
})
