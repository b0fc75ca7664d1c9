import { expect, test } from 'vitest'
import { FakeClock } from '../../../lib/testing/fake-clock.ts'
import { parseUpstream } from './upstream.ts'
import { UpstreamHealth } from './upstream-health.ts'

const [A, B, C] = ['10.0.0.1', '10.0.0.2', '10.0.0.3'].map((text) => parseUpstream(text)) as [
  never,
  never,
  never,
]

function newHealth() {
  const clock = new FakeClock(0)
  const health = new UpstreamHealth([A, B, C], clock)
  const fail = (upstream: never): void => health.failed(upstream, clock.now())
  return { clock, health, fail }
}

test('an upstream that fails comes last for a second', async () => {
  const { clock, health, fail } = newHealth()
  expect(health.order()).toEqual([A, B, C])
  fail(A)
  expect(health.order()).toEqual([B, C, A])
  await clock.advance(1)
  fail(C)
  expect(health.order()).toEqual([B, A, C])
  await clock.advance(998)
  expect(health.order()).toEqual([B, A, C])
})

test('then one question goes to it, and its answer ends that', async () => {
  const { clock, health, fail } = newHealth()
  fail(A)
  await clock.advance(1000)
  expect([health.order(), health.order()]).toEqual([
    [A, B, C],
    [B, C, A],
  ])
  health.answered(A)
  expect([health.order(), health.order()]).toEqual([
    [A, B, C],
    [A, B, C],
  ])
})

test('each further failure doubles the pause, up to 30 s', async () => {
  const { clock, health, fail } = newHealth()
  for (const pause of [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]) {
    await clock.advance(1)
    fail(A)
    await clock.advance(pause - 1)
    expect(health.order()[0]).toBe(B)
    await clock.advance(1)
    expect(health.order()[0]).toBe(A)
  }
})

test('of many questions that fail together the first one counts', async () => {
  const { clock, health } = newHealth()
  const sentAt = clock.now()
  await clock.advance(800)
  for (let count = 0; count < 100; count++) health.failed(A, sentAt)
  await clock.advance(999)
  expect(health.order()[0]).toBe(B)
  await clock.advance(1)
  expect(health.order()[0]).toBe(A)
})

test('an upstream is reported when a second pause follows the first, and when it answers again', async () => {
  const clock = new FakeClock()
  const changes: string[] = []
  const health = new UpstreamHealth([A, B], clock, ({ upstream, since, isAway }) => {
    changes.push(`${upstream.address} ${isAway ? 'away' : 'back'} since ${since}`)
  })
  const began = clock.now()
  health.failed(A, began)
  expect([changes, health.away]).toEqual([[], []])
  for (let round = 0; round < 3; round++) {
    await clock.advance(5_000)
    health.failed(A, clock.now())
  }
  expect(health.away).toEqual([{ upstream: A, since: began }])
  health.failed(B, clock.now())
  health.answered(B)
  health.answered(A)
  expect(changes).toEqual([`10.0.0.1 away since ${began}`, `10.0.0.1 back since ${began}`])
  expect(health.away).toEqual([])
})

test('all are away when each has failed, until one answers', () => {
  const { health, fail } = newHealth()
  fail(A)
  fail(B)
  expect(health.isAway).toBe(false)
  fail(C)
  expect([health.isAway, health.order()]).toEqual([true, [A, B, C]])
  health.answered(B)
  expect([health.isAway, health.order()[0]]).toEqual([false, B])
})
