import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { healthzAnswer, livezAnswer } from './answers.ts'
import { Health } from './health.ts'

const START = Date.UTC(2026, 0, 1)
const SYNC_PERIOD = 30_000

function start(inherited = false) {
  let now = START
  const health = new Health({
    clock: { now: () => now, after: () => () => {} },
    families: ['IPv4', 'IPv6'],
    syncPeriod: () => SYNC_PERIOD,
    inherited,
  })
  const pass = (ms: number) => {
    now += ms
  }
  const codes = () => [healthzAnswer(health.report()).code, livezAnswer(health.report()).code]
  const run = () => {
    health.begun()
    health.succeeded()
  }
  return { health, pass, codes, run }
}

it('reports since when the oldest change waits and why, until a run succeeds', () => {
  const { health, pass } = start()
  health.queued()
  pass(5_000)
  health.queued()
  health.begun()
  health.failed('the lock is held')
  pass(1_000)
  const { status, failure } = health.report()
  expect([failure, status.get('IPv4')?.waitingSince]).toEqual(['the lock is held', START])
  health.begun()
  health.succeeded()
  const { status: after, failure: none } = health.report()
  expect([none, after.get('IPv4')?.waitingSince]).toEqual([undefined, undefined])
})

describe('before the first run', () => {
  it('is alive, but gets no traffic', () => {
    expect(start().codes()).toEqual([503, 200])
  })

  it('gets traffic where rules of an earlier run serve', () => {
    expect(start(true).codes()).toEqual([200, 200])
  })

  it('needs the first run of every family', () => {
    const { health, codes } = start()
    health.begun('IPv4')
    health.succeeded('IPv4')
    expect(codes()).toEqual([503, 200])
    health.begun('IPv6')
    health.succeeded('IPv6')
    expect(codes()).toEqual([200, 200])
  })
})

describe('a queued change', () => {
  it('is healthy for two sync periods and not a millisecond longer', () => {
    const { health, pass, codes, run } = start()
    run()
    health.queued()
    pass(2 * SYNC_PERIOD)
    expect(codes()).toEqual([200, 200])
    pass(1)
    expect(codes()).toEqual([503, 503])
    run()
    expect(codes()).toEqual([200, 200])
  })

  it('counts from the oldest one, and through failures', () => {
    const { health, pass, codes, run } = start()
    run()
    health.queued()
    for (let i = 0; i < 3; i++) {
      pass(SYNC_PERIOD)
      health.queued()
      health.begun()
      health.failed('the lock is held')
    }
    expect(codes()).toEqual([503, 503])
  })

  it('counts a repair that fails though nothing was queued', () => {
    const { health, pass, codes, run } = start()
    run()
    health.begun()
    health.failed('the lock is held')
    pass(2 * SYNC_PERIOD + 1)
    expect(codes()).toEqual([503, 503])
    run()
    expect(codes()).toEqual([200, 200])
  })

  it('is not covered by a run that had begun before it', () => {
    const { health, pass, codes, run } = start()
    run()
    health.queued()
    health.begun()
    pass(1)
    health.queued()
    health.succeeded()
    pass(2 * SYNC_PERIOD + 1)
    expect(codes()).toEqual([503, 503])
  })

  it('of one family leaves the other healthy', () => {
    const { health, pass, run } = start()
    run()
    health.queued('IPv6')
    pass(2 * SYNC_PERIOD + 1)
    const { status } = health.report()
    expect([status.get('IPv4')?.healthy, status.get('IPv6')?.healthy]).toEqual([true, false])
  })

  it('that never comes is no illness, however long it is quiet', () => {
    const { pass, codes, run } = start()
    run()
    pass(365 * 86_400_000)
    expect(codes()).toEqual([200, 200])
  })
})

it('a leaving node gets no traffic, but is alive', () => {
  const { health, codes, run } = start()
  run()
  health.setNodeEligible(false)
  expect(codes()).toEqual([503, 200])
  health.setNodeEligible(true)
  expect(codes()).toEqual([200, 200])
})

it('the answer has the fields that existing tools read', () => {
  const { health, pass, run } = start()
  run()
  pass(1_500)
  expect(healthzAnswer(health.report()).body).toEqual({
    lastUpdated: '2026-01-01T00:00:01.500Z',
    currentTime: '2026-01-01T00:00:01.500Z',
    nodeEligible: true,
    healthy: true,
    status: {
      IPv4: { lastUpdated: '2026-01-01T00:00:00.000Z', healthy: true },
      IPv6: { lastUpdated: '2026-01-01T00:00:00.000Z', healthy: true },
    },
  })
  expect(livezAnswer(health.report()).body).not.toHaveProperty('nodeEligible')
})

it('lastUpdated stays behind while unhealthy', () => {
  const { health, pass, run } = start()
  run()
  health.queued()
  pass(2 * SYNC_PERIOD + 1)
  expect(healthzAnswer(health.report()).body).toMatchObject({
    lastUpdated: '2026-01-01T00:00:00.000Z',
    healthy: false,
  })
})

it('is unhealthy exactly when some change is waiting for too long, whatever happened', () => {
  const step = fc.oneof(
    fc.constantFrom('queued', 'begun', 'succeeded', 'failed'),
    fc.integer({ min: 0, max: SYNC_PERIOD }),
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const { health, pass } = start()
      let now = 0
      let queued: number[] = []
      let taken: number[] = []
      for (const what of steps) {
        if (typeof what === 'number') {
          now += what
          pass(what)
        } else if (what === 'failed') health.failed('the lock is held')
        else health[what as 'queued']()
        if (what === 'queued') queued.push(now)
        if (what === 'begun') [taken, queued] = [[...taken, ...queued], []]
        if (what === 'succeeded') taken = []
        if (what === 'failed') {
          const waiting = [...taken, ...queued]
          ;[taken, queued] = [[], waiting.length > 0 ? waiting : [now]]
        }
        const late = [...taken, ...queued].some((since) => now - since > 2 * SYNC_PERIOD)
        expect(health.report().healthy).toBe(!late)
      }
    }),
    { numRuns: 500 },
  )
})
