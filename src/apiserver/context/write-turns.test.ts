import { expect, test } from 'vitest'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { RequestDeadline } from '../request/request-deadline.ts'
import { type Turn, WriteTurns } from './write-turns.ts'

const entry = (modRevision: number) => ({ value: Buffer.from('{}'), modRevision })

function queue() {
  const turns = new WriteTurns()
  const clock = new FakeClock()
  const take = (key: string, timeoutMs = 1000) =>
    turns.take(key, new RequestDeadline({ clock, timeoutMs }))
  return { turns, clock, take }
}

test('the first writers of different objects get their turns at once', () => {
  const { turns, take } = queue()
  for (const key of ['a', 'b']) expect(take(key)).not.toBeInstanceOf(Promise)
  expect(turns.size).toBe(2)
})

test('writers of one object get their turns in the order of arrival', async () => {
  const { turns, take } = queue()
  const order: number[] = []
  const first = take('a') as Turn
  const others = [1, 2, 3].map(async (index) => {
    const turn = await take('a')
    order.push(index)
    turn!.end()
  })
  first.end()
  await Promise.all(others)
  expect(order).toEqual([1, 2, 3])
  expect(turns.size).toBe(0)
})

test('a turn has the object as the last writer left it, also after a writer that wrote nothing', async () => {
  const { take } = queue()
  const first = take('a') as Turn
  const waiting = [take('a'), take('a'), take('a')]
  expect(first.newest).toBeUndefined()
  first.end(entry(7))
  const second = await waiting[0]!
  expect(second!.newest).toEqual(entry(7))
  second!.end()
  const third = await waiting[1]!
  expect(third!.newest).toEqual(entry(7))
  third!.end(entry(8))
  const fourth = await waiting[2]!
  expect(fourth!.newest).toEqual(entry(8))
  fourth!.end()
  expect((take('a') as Turn).newest).toBeUndefined()
})

test('a writer whose deadline passes leaves the queue, and the next one gets the turn', async () => {
  const { turns, clock, take } = queue()
  const first = take('a') as Turn
  const [impatient, patient] = [take('a', 500), take('a')]
  await clock.advance(500)
  expect(await impatient).toBeUndefined()
  first.end()
  const turn = await patient
  turn!.end()
  expect(turns.size).toBe(0)
})

test('a writer that arrives after its deadline gets no turn', async () => {
  const { clock, take, turns } = queue()
  const first = take('a') as Turn
  const deadline = new RequestDeadline({ clock, timeoutMs: 100 })
  await clock.advance(200)
  const late = turns.take('a', deadline)
  await clock.advance(0)
  expect(await late).toBeUndefined()
  first.end()
  expect(turns.size).toBe(0)
})
