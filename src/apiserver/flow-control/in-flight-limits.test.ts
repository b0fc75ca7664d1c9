import { expect, test } from 'vitest'
import { FakeClock } from '../../lib/fake-clock.ts'
import type { Release } from './concurrency-limit.ts'
import { RequestFlow } from './in-flight-limits.ts'

const USER = { client: 'user', isSystem: false }
const OTHER = { client: 'other', isSystem: false }
const SYSTEM = { client: 'system', isSystem: true }

function started(inFlight: number) {
  const clock = new FakeClock()
  const flow = new RequestFlow({
    ...{ clock, waitMs: 15_000 },
    inFlight: { readOnly: inFlight, mutating: inFlight },
  })
  return { clock, flow }
}

test('so many are served at once, the next when one of them is done', async () => {
  const { flow } = started(3)
  const first = flow.enter('readOnly', USER) as Release
  void flow.enter('readOnly', USER)
  const third = flow.enter('readOnly', USER)
  expect(flow.load('readOnly')).toEqual({ taken: 2, waiting: 1 })
  expect(flow.load('mutating')).toEqual({ taken: 0, waiting: 0 })
  first()
  first()
  expect(await third).toBeTypeOf('function')
  expect(flow.load('readOnly')).toEqual({ taken: 2, waiting: 0 })
})

test('the system has places that nobody else fills, and fills none of the others’', () => {
  const { flow } = started(4)
  const enter = (who: typeof USER) => typeof flow.enter('mutating', who)
  expect([USER, USER, USER, USER].map(enter)).toEqual([
    'function',
    'function',
    'function',
    'object',
  ])
  expect([SYSTEM, SYSTEM].map(enter)).toEqual(['function', 'object'])
})

test('nobody waits for ever, nor in a queue without end', async () => {
  const { flow, clock } = started(2)
  void flow.enter('readOnly', USER)
  const waiting = Array.from({ length: 11 }, () => flow.enter('readOnly', USER))
  expect(await waiting.at(-1)).toBe('queue-full')
  const late = flow.enter('readOnly', OTHER)
  expect(await waiting.at(-2)).toBe('queue-full')
  await clock.advance(15_000)
  expect([await waiting[0], await late]).toEqual(['time-out', 'time-out'])
  expect(flow.load('readOnly')).toEqual({ taken: 1, waiting: 0 })
})
