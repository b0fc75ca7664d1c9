import { expect, test } from 'vitest'
import type { ServiceKey } from '../../forwarding/entry.ts'
import type { ReadTraffic } from '../../modes/mode.ts'
import { TrafficCounters } from './traffic-counters.ts'

const KEY = 'shop/web' as ServiceKey

/** A mode whose reading takes `costMs` and shows how many there were. */
function rig(costMs = 10) {
  const state = { now: 1_000, reads: 0, active: 0, backendsOf: [] as boolean[] }
  const late: (() => void)[] = []
  const clock = {
    now: () => state.now,
    after(_: number, task: () => void) {
      late.push(task)
      return () => undefined
    },
  }
  const readTraffic: ReadTraffic = async (isWanted) => {
    state.active++
    expect(state.active, 'one reading at a time').toBe(1)
    state.reads++
    await new Promise((done) => setImmediate(done))
    state.now += costMs
    state.active--
    state.backendsOf.push(isWanted?.(KEY) === true)
    return { totals: new Map([[KEY, { connections: state.reads }]]), backends: new Map() }
  }
  const mode: { current: { readTraffic?: ReadTraffic } | undefined } = { current: { readTraffic } }
  const counters = new TrafficCounters({ clock, mode: () => mode.current })
  const count = async () => (await counters.totals())?.get(KEY)?.connections
  /** The scrapes that wait have waited long enough. */
  const giveUp = () => {
    for (const task of late.splice(0)) task()
  }
  return { state, mode, counters, count, readTraffic, giveUp }
}

test('scrapes within a second, and together, share one reading', async () => {
  const { state, count } = rig()
  expect(await Promise.all([count(), count(), count()])).toEqual([1, 1, 1])
  state.now += 900
  expect(await count()).toBe(1)
  state.now += 100
  expect(await count()).toBe(2)
})

test('a reading that takes longer serves scrapes for 100 times as long, but no inspection', async () => {
  const { state, count, counters } = rig(200)
  await count()
  state.now += 19_900
  expect(await count()).toBe(1)
  expect((await counters.read(''))?.totals.get(KEY)).toEqual({ connections: 2 })
  state.now += 20_000
  expect(await count()).toBe(3)
})

test('a scrape does not wait for a slow reading: it shows the one before, or none; the next scrape the new one', async () => {
  const { state, count, giveUp } = rig()
  const scrape = async () => {
    const shown = count()
    giveUp()
    const result = await shown
    await expect.poll(() => state.active).toBe(0)
    return result
  }
  expect(await scrape()).toBeUndefined()
  expect(await count()).toBe(1)
  state.now += 1_000
  expect([await scrape(), await count(), state.reads]).toEqual([1, 2, 2])
})

test('what another mode counted is not shown while the first reading is slow', async () => {
  const { mode, count, giveUp, readTraffic } = rig()
  await count()
  mode.current = { readTraffic }
  const shown = count()
  giveUp()
  expect(await shown).toBeUndefined()
})

test('backends are read of the requested Services, and those of all Services serve each', async () => {
  const { state, counters, count } = rig()
  await counters.read('other/')
  await counters.read('shop/web')
  await counters.read('')
  await counters.read('shop/web')
  await count()
  expect(state.backendsOf).toEqual([false, true, true])
})

test('another mode begins anew; one that counts nothing has no totals', async () => {
  const { mode, count, readTraffic, state } = rig()
  await count()
  state.reads = -5
  mode.current = { readTraffic }
  expect(await count()).toBe(-4)
  mode.current = {}
  expect(await count()).toBeUndefined()
  mode.current = undefined
  expect(await count()).toBeUndefined()
})

test('a reading that fails is an error, and the next one is tried', async () => {
  const { mode, counters, count, readTraffic } = rig()
  mode.current = { readTraffic: () => Promise.reject(new Error('lost')) }
  await expect(counters.read('')).rejects.toThrow('lost')
  mode.current = { readTraffic }
  expect(await count()).toBe(1)
})
