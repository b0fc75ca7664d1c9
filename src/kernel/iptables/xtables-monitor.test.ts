import { beforeEach, describe, expect, test } from 'vitest'
import type { RuleChange } from '../nftables/rule-monitor.ts'
import { digestEntries } from './table-reader.ts'
import type { Xtables } from './xtables.ts'
import { XtablesMonitor } from './xtables-monitor.ts'

let now = 0
let timer: (() => void) | undefined
const clock = {
  now: () => now,
  after(_: number, task: () => void) {
    timer = task
    return () => {
      timer = undefined
    }
  },
}
const table = {
  entries: 5,
  size: 800,
  rules: 'a',
  lock: false,
  reads: 0,
  cost: 10,
  /** Called once while the digest is read. */
  onRead: () => {},
}
const xtables: Xtables = {
  info: () => ({ entries: table.entries, size: table.size }),
  async digest() {
    table.reads++
    now += table.cost
    table.onRead()
    table.onRead = () => {}
    return table.rules
  },
  lockTaken() {
    const taken = table.lock
    table.lock = false
    return taken
  },
  close: () => undefined,
}
const changes: RuleChange[] = []
const NAT = { touched: [{ family: 4, table: 'nat', chain: undefined }] }
let monitor: XtablesMonitor
let stop: () => void

beforeEach(() => {
  now = 1_000_000
  changes.length = 0
  Object.assign(table, { entries: 5, size: 800, rules: 'a', lock: false, reads: 0, cost: 10 })
  monitor = new XtablesMonitor(xtables, { clock, tables: [{ family: 4, table: 'nat' }] })
  stop = monitor.start((change) => changes.push(change))
})

async function elapse(ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 250) {
    now += 250
    const task = timer
    timer = undefined
    task?.()
    await expect.poll(() => timer !== undefined, { interval: 0 }).toBe(true)
  }
}

test('an added or removed rule is reported within a quarter of a second', async () => {
  await elapse(1000)
  table.entries = 4
  await elapse(250)
  expect(changes).toMatchObject([NAT])
  await elapse(1000)
  expect(changes).toHaveLength(1)
})

test('a replaced rule is reported when a program took the lock', async () => {
  await elapse(1000)
  Object.assign(table, { rules: 'b', lock: true })
  await elapse(1000)
  expect(changes).toMatchObject([NAT])
})

test('a replaced rule is reported later when no program took the lock', async () => {
  await elapse(1000)
  table.rules = 'b'
  await elapse(1000)
  expect(changes).toEqual([])
  await elapse(3000)
  expect(changes).toMatchObject([NAT])
})

test('reading costs no more than its share, also while programs keep taking the lock', async () => {
  table.cost = 30
  await elapse(60_000)
  expect(table.reads).toBeLessThanOrEqual(9)
  expect(table.reads).toBeGreaterThanOrEqual(7)
  table.reads = 0
  for (let second = 0; second < 60; second++) {
    table.lock = true
    await elapse(1000)
  }
  expect(table.reads).toBeLessThanOrEqual(61)
  expect(changes).toEqual([])
})

test('own changes are not reported, and become the new state', async () => {
  await elapse(1000)
  const release = monitor.hold()
  Object.assign(table, { entries: 9, rules: 'ours', lock: true })
  await elapse(5000)
  release({ authors: [1], commits: 1 })
  await elapse(10_000)
  expect(changes).toEqual([])
  table.rules = 'theirs'
  await elapse(10_000)
  expect(changes).toMatchObject([NAT])
})

test('a program that ran before the own state was read may have changed the table, which is reported', async () => {
  await elapse(1000)
  const release = monitor.hold()
  table.rules = 'ours'
  release({ authors: [1], commits: 1 })
  table.lock = true
  await elapse(2000)
  expect(changes).toMatchObject([NAT])
})

test('a change that was read when a hold began is reported after it, if the hold changed nothing', async () => {
  table.cost = 100
  await elapse(1000)
  Object.assign(table, { rules: 'theirs', lock: true })
  let release = () => {}
  table.onRead = () => {
    const end = monitor.hold()
    release = () => end({ authors: [1], commits: 0 })
  }
  await elapse(3000)
  expect(changes).toEqual([])
  release()
  await elapse(1000)
  expect(changes).toMatchObject([NAT])
})

test('a stopped monitor reads nothing', () => {
  stop()
  expect(timer).toBeUndefined()
})

test.each([
  [4, 112, 90, 92],
  [6, 168, 142, 144],
] as const)(
  'a digest of IPv%i entries ignores counters and nothing else',
  async (family, size, next, own) => {
    const entries = (change: (bytes: Buffer) => void) => {
      const bytes = Buffer.alloc(2 * size)
      for (const at of [0, size]) bytes.writeUInt16LE(size, at + next)
      change(bytes)
      return digestEntries(family, bytes)
    }
    const plain = await entries(() => undefined)
    expect(await entries((bytes) => bytes.fill(7, own, size))).toBe(plain)
    expect(await entries((bytes) => bytes.fill(7, size + own, 2 * size))).toBe(plain)
    for (const at of [0, next - 3, size, size + next - 3]) {
      expect(await entries((bytes) => bytes.fill(7, at, at + 1))).not.toBe(plain)
    }
  },
)

describe('stopped and started again in the middle of a reading', () => {
  const timers = new Set<() => void>()
  const readings: ((digest: string) => void)[] = []
  const slow: Xtables = {
    ...xtables,
    digest() {
      const { promise, resolve } = Promise.withResolvers<string>()
      readings.push(resolve)
      return promise
    },
  }
  const counting = {
    now: () => now,
    after(_: number, task: () => void) {
      timers.add(task)
      return () => timers.delete(task)
    },
  }

  function tick(): void {
    const [task] = timers
    timers.clear()
    now += 1000
    task?.()
  }

  async function finish(reading: number, digest: string): Promise<void> {
    readings[reading]?.(digest)
    await new Promise((done) => setImmediate(done))
  }

  beforeEach(() => {
    timers.clear()
    readings.length = 0
    const other = new XtablesMonitor(slow, {
      clock: counting,
      tables: [{ family: 4, table: 'nat' }],
    })
    const end = other.start(() => undefined)
    table.lock = true
    tick()
    end()
    other.start((change) => changes.push(change))
  })

  test('it ticks once', async () => {
    await finish(0, 'a')
    expect(timers.size).toBe(1)
  })

  test('the end of the earlier reading begins no tick beside one that runs', async () => {
    tick()
    await finish(0, 'a')
    expect(timers.size).toBe(0)
    await finish(1, 'a')
    expect(timers.size).toBe(1)
  })

  test('a change is reported once, and what the earlier reading found is not', async () => {
    table.lock = true
    tick()
    await finish(0, 'a')
    expect(changes).toEqual([])
    await finish(1, 'b')
    expect(changes).toMatchObject([NAT])
  })
})
