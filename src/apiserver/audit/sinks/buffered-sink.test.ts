import { expect, test } from 'vitest'
import { FakeClock } from '../../../lib/testing/fake-clock.ts'
import { sinkContext, sum } from '../testing/sink-context.ts'
import { BufferedSink, type BufferedSinkOptions, type Delivery } from './buffered-sink.ts'

type Attempt = Delivery | Promise<Delivery>

/** A sink whose receiver answers with `attempts` in turn, then takes everything. */
function scene(attempts: readonly Attempt[] = [], options: Partial<BufferedSinkOptions> = {}) {
  const clock = new FakeClock()
  const context = sinkContext(clock)
  const batches: (readonly string[])[] = []
  const sink = new BufferedSink({
    ...context,
    name: 'test',
    deliver: (lines) => {
      batches.push(lines)
      return Promise.resolve(attempts[batches.length - 1] ?? { lines: lines.length })
    },
    queue: { lines: 10, bytes: 10_000 },
    batch: { lines: 3, bytes: 1000 },
    gatherMs: 100,
    retry: { baseMs: 1000, maxMs: 4000, attempts: 3 },
    closeMs: 2000,
    ...options,
  })
  const write = (...lines: readonly string[]): void => lines.forEach((line) => sink.write(line))
  return { ...context, clock, batches, sink, write }
}

const HANGS = new Promise<Delivery>(() => undefined)

function failing(lines = 0, canRetry = true): Delivery {
  return { lines, failure: { error: new Error('no space'), canRetry } }
}

test('events are delivered in batches, after a while in which others may come', async () => {
  const { clock, batches, write } = scene()
  write('a', 'b', 'c', 'd')
  await clock.advance(99)
  expect(batches).toEqual([])
  await clock.advance(1)
  expect(batches).toEqual([['a', 'b', 'c'], ['d']])
  write('e')
  await clock.advance(100)
  expect(batches).toHaveLength(3)
})

test('what was not delivered is tried again, later each time, and nothing is sent twice', async () => {
  const { clock, batches, write, dropped, failed, logged } = scene([failing(1), failing()])
  write('a', 'b')
  await clock.advance(100)
  expect(clock.pending()).toEqual([500])
  await clock.advance(500)
  expect(clock.pending()).toEqual([1000])
  await clock.advance(1000)
  expect(batches).toEqual([['a', 'b'], ['b'], ['b']])
  expect([dropped, failed]).toEqual([[], ['test', 'test']])
  expect(logged[0]?.fields).toEqual({ sink: 'test', err: new Error('no space') })
})

test('after the last attempt the batch is dropped and counted, and the next one goes on', async () => {
  const { clock, batches, write, dropped } = scene([failing(), failing(1), failing()])
  write('a', 'b', 'c', 'd')
  await clock.advance(10_000)
  expect(batches).toEqual([['a', 'b', 'c'], ['a', 'b', 'c'], ['b', 'c'], ['d']])
  expect(dropped).toEqual([2])
})

test('what no attempt can change is not tried again', async () => {
  const { clock, batches, write, dropped } = scene([failing(0, false)])
  write('a')
  await clock.advance(10_000)
  expect([batches, dropped]).toEqual([[['a']], [1]])
})

test('a receiver that hangs costs bounded memory: what is too much is dropped at once', async () => {
  const { clock, batches, write, dropped, logged } = scene([HANGS])
  write('first', 'second', 'third')
  await clock.advance(100)
  for (let serial = 0; serial < 1000; serial++) write(`line ${serial}`)
  expect(batches).toHaveLength(1)
  expect(sum(dropped)).toBe(990)
  expect(logged.at(-1)?.fields).toEqual({ sink: 'test' })
  const large = scene([HANGS])
  large.write('x'.repeat(3000), 'y'.repeat(3000))
  expect(large.dropped).toEqual([1])
})

test('closing delivers what waits, at once', async () => {
  const { batches, sink, write, dropped } = scene([failing()])
  write('a', 'b', 'c', 'd')
  await sink.close()
  expect(batches).toEqual([['a', 'b', 'c'], ['d']])
  expect(dropped).toEqual([3])
  write('late')
  expect(dropped).toEqual([3, 1])
})

test('closing interrupts the wait for another attempt', async () => {
  const { clock, batches, sink, write, dropped } = scene([failing()])
  write('a')
  await clock.advance(100)
  await sink.close()
  expect([batches, dropped]).toEqual([[['a'], ['a']], []])
})

test('closing ends at its deadline when the receiver hangs, and counts what is lost', async () => {
  const { clock, sink, write, dropped } = scene([HANGS])
  write('a', 'b', 'c', 'd', 'e')
  await clock.advance(100)
  let isClosed = false
  const closing = sink.close().then(() => (isClosed = true))
  await clock.advance(1999)
  expect(isClosed).toBe(false)
  await clock.advance(1)
  await closing
  expect(sum(dropped)).toBe(5)
  expect(clock.pending()).toEqual([])
})

test('a sink without events closes at once', async () => {
  const { clock, sink } = scene()
  await sink.close()
  expect(clock.pending()).toEqual([])
})
