import { expect, test } from 'vitest'
import { type ClusterEvent, ClusterStore } from '../../cluster/cluster-store.ts'
import type { StaleFlows } from '../../forwarding/entry.ts'
import { nodeContext } from '../../forwarding/testing/fixtures.ts'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { objectOf, serviceEvents } from '../../sync/testing/rig.ts'
import { ScriptedMode } from '../../sync/testing/scripted-mode.ts'
import { recordingLog } from '../testing/wiring.ts'
import { Engine } from './engine.ts'
import { PendingCleanups } from './pending-cleanups.ts'

interface World {
  mode: string
  settings: string
  minPeriodMs: number
}

/** An engine whose modes write into one kernel, and what was built, watched and reported. */
function rig() {
  const clock = new FakeClock()
  const world: World = { mode: 'one', settings: 'first', minPeriodMs: 0 }
  /** What each mode holds in the kernel. */
  const kernels = new Map([['one', new ScriptedMode().kernel]])
  const kernelOf = (mode: string) => kernels.getOrInsertComputed(mode, () => new Map())
  const kernel = kernelOf('one')
  const built: ScriptedMode[] = []
  /** Indices of modes, in the order in which they began to watch. */
  const watched: number[] = []
  const flows: StaleFlows[] = []
  const none = { applied: 0, completed: 0, drifted: 0 }
  const reported = { ...none, compiled: [] as string[], failed: [] as unknown[] }
  const { log, lines } = recordingLog()
  const pendingCleanups = new PendingCleanups({ clock, log })
  const build = (name: string) => {
    const mode = new ScriptedMode()
    const watch = mode.watch.bind(mode)
    const noted = (onChange: Parameters<typeof watch>[0]) => {
      watched.push(built.indexOf(mode))
      return watch(onChange)
    }
    Object.assign(mode, { name, kernel: kernelOf(name), watch: noted })
    built.push(mode)
    return mode
  }
  const engine = new Engine({
    clock,
    wallClock: clock,
    log,
    pendingCleanups,
    store: new ClusterStore(),
    onComplete: (mode) => {
      reported.completed++
      pendingCleanups.completed(mode)
    },
    observe: () => ({
      queued: () => {},
      begun: () => {},
      compiled: (services) => reported.compiled.push(...services),
      applied: () => reported.applied++,
      drifted: () => reported.drifted++,
      normalised: () => {},
      failed: (error) => reported.failed.push(error),
      flowsCut: () => {},
      flowsFailed: () => {},
    }),
    cutFlows: async (some) => {
      flows.push(...some)
      return some.length
    },
    spec: () => {
      const { mode } = world
      return { ...world, verifyPeriodMs: 30_000, build: () => build(mode) }
    },
    nodeContext: () => nodeContext(),
  })
  const watching = () => built.filter(({ isWatched }) => isWatched).length
  return {
    clock,
    world,
    kernel,
    kernelOf,
    built,
    watched,
    flows,
    reported,
    lines,
    engine,
    watching,
  }
}

const nodeEvent = (zone: string): ClusterEvent => ({
  kind: 'node',
  name: 'here',
  value: { name: 'here', zone, addresses: [], podCIDRs: [], leaving: false },
})

test('nothing is built before the cluster was listed, and then everything written', async () => {
  const { engine, built, clock, kernel } = rig()
  engine.enqueue(serviceEvents('s1'))
  expect([built.length, engine.running]).toEqual([0, undefined])
  engine.start()
  engine.start()
  await clock.advance(0)
  expect(built).toHaveLength(1)
  expect([...kernel.keys()]).toEqual([objectOf('s1')])
})

test('another spec is another mode over the same table: nothing is written again', async () => {
  const { engine, built, clock, world, kernel, reported, lines, watching } = rig()
  engine.enqueue(serviceEvents('s1'))
  engine.start()
  await clock.advance(0)
  const [table, before] = [engine.running?.table, new Map(kernel)]
  world.settings = 'second'
  engine.refresh()
  await clock.advance(0)
  expect(built.map(({ calls }) => calls)).toEqual([['observe all', 'apply +1 -0'], ['observe all']])
  expect(kernel).toEqual(before)
  expect(engine.running?.table).toBe(table)
  expect([watching(), reported.drifted, lines]).toEqual([1, 0, []])
})

test('the same spec compiles everything again in the same mode', async () => {
  const { engine, built, clock, reported } = rig()
  engine.enqueue(serviceEvents('s1'))
  engine.start()
  await clock.advance(0)
  reported.compiled.length = 0
  engine.refresh()
  await clock.advance(0)
  expect([built.length, reported.compiled]).toEqual([1, ['ns/s1']])
})

test('a node object that says nothing new compiles nothing', async () => {
  const { engine, clock, reported } = rig()
  engine.enqueue([...serviceEvents('s1'), nodeEvent('a')])
  engine.start()
  await clock.advance(0)
  reported.compiled.length = 0
  engine.enqueue([nodeEvent('a')])
  await clock.advance(0)
  expect(reported.compiled).toEqual([])
  engine.enqueue([nodeEvent('b')])
  await clock.advance(0)
  expect(reported.compiled).toEqual(['ns/s1'])
})

test('events during a hand-over are not lost, nor what waits for them', async () => {
  const { engine, built, clock, world, kernel } = rig()
  engine.enqueue(serviceEvents('s1'))
  engine.start()
  await clock.advance(0)
  const { promise, resolve } = Promise.withResolvers<void>()
  built[0]!.duringApply = () => promise
  engine.enqueue(serviceEvents('s2'))
  await clock.advance(0)
  world.settings = 'second'
  engine.refresh()
  let applied = 0
  engine.enqueue(serviceEvents('s3'), () => applied++)
  await clock.advance(100)
  expect([kernel.has(objectOf('s3')), applied, built[1]?.calls]).toEqual([false, 0, []])
  resolve()
  await clock.advance(0)
  expect([...kernel.keys()].sort()).toEqual(['s1', 's2', 's3'].map(objectOf))
  expect(applied).toBe(1)
})

test('one writes at a time, and a mode that was overtaken never begins', async () => {
  const { engine, built, clock, world, watched, watching } = rig()
  engine.enqueue(serviceEvents('s1'))
  engine.start()
  await clock.advance(0)
  const { promise, resolve } = Promise.withResolvers<void>()
  built[0]!.duringApply = () => promise
  engine.enqueue(serviceEvents('s2'))
  await clock.advance(0)
  for (const settings of ['second', 'third', 'fourth']) {
    world.settings = settings
    engine.refresh()
    expect(watching()).toBeLessThanOrEqual(1)
  }
  resolve()
  await clock.advance(0)
  expect(watched).toEqual([0, 3])
  expect(built.map(({ calls }) => calls.length > 0)).toEqual([true, false, false, true])
})

test('flows of what went away during a hand-over are cut', async () => {
  const { engine, built, clock, world, flows } = rig()
  const udp = serviceEvents('s1').map((event) => {
    if (event.kind === 'service' && event.value) {
      const ports = event.value.ports.map((port) => ({ ...port, protocol: 'UDP' as const }))
      return { ...event, value: { ...event.value, ports } }
    }
    if (event.kind !== 'endpoints' || !event.value) return event
    const groups = event.value.groups.map((group) => ({
      ...group,
      ports: group.ports.map((port) => ({ ...port, protocol: 'UDP' as const })),
    }))
    return { ...event, value: { ...event.value, groups } }
  })
  engine.enqueue(udp)
  engine.start()
  await clock.advance(0)
  flows.length = 0
  const { promise, resolve } = Promise.withResolvers<void>()
  built[0]!.duringApply = () => promise
  engine.enqueue(serviceEvents('s2'))
  await clock.advance(0)
  world.settings = 'second'
  engine.refresh()
  const [gone] = udp
  engine.enqueue([{ ...gone!, value: undefined }])
  resolve()
  await clock.advance(0)
  expect(flows).toMatchObject([{ protocol: 'UDP', port: 80, keep: new Set() }])
})

test('a new period of the loop is a new loop', async () => {
  const { engine, built, clock, world } = rig()
  engine.start()
  await clock.advance(0)
  world.minPeriodMs = 5_000
  engine.refresh()
  await clock.advance(0)
  expect(built).toHaveLength(2)
  engine.enqueue(serviceEvents('s1'))
  await clock.advance(0)
  engine.enqueue(serviceEvents('s2'))
  await clock.advance(4_999)
  expect(engine.running?.table.size).toBe(1)
  await clock.advance(1)
  expect(engine.running?.table.size).toBe(2)
})

test('after stop no mode watches and nothing begins', async () => {
  const { engine, built, clock, world, watching } = rig()
  engine.enqueue(serviceEvents('s1'))
  engine.start()
  await clock.advance(0)
  world.settings = 'second'
  engine.refresh()
  const stopped = engine.stop()
  await clock.advance(0)
  await stopped
  expect(watching()).toBe(0)
  engine.enqueue(serviceEvents('s2'))
  await clock.advance(60_000)
  expect(built[1]?.calls ?? []).toEqual([])
})

const REFUSED = { code: 'NP_NO', message: 'no' }

/** One Service in mode `one`, then mode `two` is wanted. */
async function switched() {
  const all = rig()
  all.engine.enqueue(serviceEvents('s1'))
  all.engine.start()
  await all.clock.advance(0)
  return {
    ...all,
    async to(mode: string) {
      all.world.mode = mode
      all.engine.refresh()
      await all.clock.advance(0)
    },
  }
}

test('another mode is complete before the old one drains', async () => {
  const { to, built, kernelOf, clock, world, engine } = await switched()
  world.mode = 'two'
  engine.refresh()
  const { promise, resolve } = Promise.withResolvers<void>()
  built[1]!.duringApply = () => promise
  await clock.advance(0)
  expect([kernelOf('one').size, kernelOf('two').size]).toEqual([1, 1])
  expect(built[0]?.calls).not.toContain('drainAndCleanup')
  resolve()
  await clock.advance(0)
  expect(built[0]?.calls.at(-1)).toBe('drainAndCleanup')
  expect([kernelOf('one').size, kernelOf('two').size]).toEqual([0, 1])
  expect(engine.running?.mode.name).toBe('two')
  await to('two')
  expect(built).toHaveLength(2)
})

test('a Service that the new mode could not write yet holds the old mode back', async () => {
  const { built, kernelOf, clock, world, engine } = await switched()
  world.mode = 'two'
  engine.refresh()
  built[1]!.refused.set(objectOf('s1'), REFUSED)
  await clock.advance(500)
  expect(built[0]?.calls).not.toContain('drainAndCleanup')
  built[1]!.refused.clear()
  await clock.advance(600)
  expect(built[0]?.calls).toContain('drainAndCleanup')
  expect(kernelOf('one').size).toBe(0)
})

test('a mode that was left is never complete any more', async () => {
  const { engine, built, clock, world } = rig()
  engine.enqueue(serviceEvents('s1'))
  engine.start()
  built[0]!.refused.set(objectOf('s1'), REFUSED)
  await clock.advance(0)
  world.mode = 'two'
  engine.refresh()
  const { promise, resolve } = Promise.withResolvers<void>()
  built[1]!.duringApply = () => promise
  await clock.advance(120_000)
  expect(built.map(({ calls }) => calls.includes('drainAndCleanup'))).toEqual([false, false])
  resolve()
  await clock.advance(0)
  expect(built.map(({ calls }) => calls.includes('drainAndCleanup'))).toEqual([true, false])
})

test('a mode that cannot be written at all never makes the old one leave', async () => {
  const { built, clock, world, engine, reported } = await switched()
  world.mode = 'two'
  engine.refresh()
  built[1]!.applyErrors.push(...Array.from({ length: 500 }, () => new Error('no')))
  await clock.advance(200_000)
  expect(reported.failed.length).toBeGreaterThan(10)
  expect(built[0]?.calls).not.toContain('drainAndCleanup')
})

test('switching back stops the draining first, and the old mode repairs what it took', async () => {
  const { to, built, kernelOf, clock, world, engine } = await switched()
  const { promise, resolve } = Promise.withResolvers<void>()
  let aborted = false
  built[0]!.duringCleanup = (signal) => {
    built[0]!.kernel.clear()
    signal.addEventListener('abort', () => (aborted = true))
    return promise
  }
  await to('two')
  expect(kernelOf('one').size).toBe(0)
  world.mode = 'one'
  engine.refresh()
  await clock.advance(0)
  expect([aborted, built[2]?.calls]).toEqual([true, []])
  expect(engine.running?.mode).toBe(built[2])
  resolve()
  await clock.advance(0)
  expect(built[2]?.calls).toEqual(['observe all', 'apply +1 -0'])
  expect([kernelOf('one').size, kernelOf('two').size]).toEqual([1, 0])
  expect(built[1]?.calls.at(-1)).toBe('drainAndCleanup')
})

test('a mode that is called back while the other one begins is not sent away by its last run', async () => {
  const { built, clock, world, engine, kernelOf } = await switched()
  const writing = Promise.withResolvers<void>()
  const removed = Promise.withResolvers<void>()
  built[0]!.duringCleanup = async () => {
    await removed.promise
    kernelOf('one').clear()
  }
  world.mode = 'two'
  engine.refresh()
  built[1]!.duringApply = () => writing.promise
  await clock.advance(0)
  world.mode = 'one'
  engine.refresh()
  writing.resolve()
  await clock.advance(0)
  removed.resolve()
  await clock.advance(0)
  expect([kernelOf('one').size, kernelOf('two').size]).toEqual([1, 0])
})

test('a change back and forth while a mode ends its work changes nothing', async () => {
  const { built, clock, world, engine, kernelOf } = await switched()
  const { promise, resolve } = Promise.withResolvers<void>()
  built[0]!.duringApply = () => promise
  engine.enqueue(serviceEvents('s2'))
  await clock.advance(0)
  for (const mode of ['two', 'one']) {
    world.mode = mode
    engine.refresh()
  }
  resolve()
  await clock.advance(0)
  expect(built.flatMap(({ calls }) => calls)).not.toContain('drainAndCleanup')
  expect([kernelOf('one').size, kernelOf('two').size]).toEqual([2, 0])
})

test('the end of the daemon stops the draining and leaves the rest to the next start', async () => {
  const { to, built, engine, clock } = await switched()
  let aborted = false
  built[0]!.duringCleanup = (signal) =>
    new Promise((resolve) => {
      signal.addEventListener('abort', () => {
        aborted = true
        resolve()
      })
    })
  await to('two')
  expect(aborted).toBe(false)
  const stopped = engine.stop()
  await clock.advance(0)
  await stopped
  expect([aborted, built[0]?.kernel.size]).toEqual([true, 1])
})

/** One Service in mode `one`, which ends with mode `two`. */
async function endedWithTwo(late = new AbortController()) {
  const all = await switched()
  const { kernelOf, built, engine, clock } = all
  const build = (): ScriptedMode => {
    const mode = Object.assign(new ScriptedMode(), { name: 'two', kernel: kernelOf('two') })
    built.push(mode)
    return mode
  }
  const spec = { mode: 'two', settings: 'its', minPeriodMs: 0, verifyPeriodMs: 30_000, build }
  const ended = engine.standIn(spec, late.signal)
  return { ...all, ended, late, advance: () => clock.advance(0) }
}

test('a stand-in has everything before the mode takes no more connections; it follows the cluster until the end', async () => {
  const { ended, built, kernelOf, advance, engine, world } = await endedWithTwo()
  const { promise, resolve } = Promise.withResolvers<void>()
  built[1]!.duringApply = () => promise
  await advance()
  expect(built[0]?.calls).not.toContain('takeNoMore')
  resolve()
  await advance()
  expect(await ended).toBe(true)
  expect(built[0]?.calls.at(-1)).toBe('takeNoMore')
  expect([kernelOf('one').size, kernelOf('two').size]).toEqual([1, 1])
  world.settings = 'second'
  engine.enqueue([...serviceEvents('s2'), nodeEvent('b')])
  engine.refresh()
  await advance()
  expect([engine.running?.mode.name, built.length]).toEqual(['two', 2])
  expect(kernelOf('two').size).toBe(2)
  await engine.stop()
  expect(built[0]?.calls).not.toContain('drainAndCleanup')
})

test('a stand-in that is not complete in time leaves the connections to the mode', async () => {
  const { ended, built, late, advance } = await endedWithTwo()
  built[1]!.refused.set(objectOf('s1'), REFUSED)
  await advance()
  late.abort()
  expect(await ended).toBe(false)
  expect(built[0]?.calls).not.toContain('takeNoMore')
})

test('before the cluster is listed nothing stands in', async () => {
  const { engine, built } = rig()
  const spec = { mode: 'two', settings: '', minPeriodMs: 0, verifyPeriodMs: 30_000 }
  const build = () => new ScriptedMode()
  expect(await engine.standIn({ ...spec, build }, new AbortController().signal)).toBe(false)
  expect(built).toEqual([])
})
