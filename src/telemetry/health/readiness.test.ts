import { describe, expect, it } from 'vitest'
import { readyzAnswer } from './answers.ts'
import { assessReadiness, type ReadinessFacts } from './readiness.ts'

const READY: ReadinessFacts = {
  connected: new Map([['services', true]]),
  synced: new Map([['services', true]]),
  apiFailures: new Map([
    ['services', { reason: 'refused', description: 'refused; check the port' }],
  ]),
  silence: undefined,
  applied: true,
  conditions: [],
  kernel: { now: 0, healthy: true, status: new Map(), failure: undefined },
}

describe('assessReadiness', () => {
  it('is ready when all is well', () => {
    expect(readyzAnswer(assessReadiness(READY))).toEqual({
      code: 200,
      body: { ready: true, reasons: [], warnings: [] },
    })
  })

  it.each([
    [
      { connected: new Map([['services', false]]) },
      'refused',
      'no watch on services is open: refused; check the port',
    ],
    [{ connected: new Map([['nodes', false]]) }, 'not-watched', 'no watch on nodes is open'],
    [
      { silence: { reason: 'timeout', description: 'no answer within 8 s' } },
      'timeout',
      'the API server is silent: no answer within 8 s',
    ],
    [{ connected: new Map() }, 'not-connected', 'not connected to the API server yet'],
    [{ synced: new Map([['nodes', false]]) }, 'not-listed', 'nodes are not listed yet'],
    [{ applied: false }, 'not-applied', 'the rules are not in the kernel yet'],
  ])('says why not: %j', (change, code, message) => {
    const readiness = assessReadiness({ ...READY, ...change })
    expect(readiness.reasons).toEqual([{ code, message }])
    expect(readyzAnswer(readiness)).toEqual({
      code: 503,
      body: { ready: false, reasons: [message], warnings: [] },
    })
  })

  it.each([
    [
      'NP_IPTABLES_LOCKED: another process holds the lock',
      'NP_IPTABLES_LOCKED: another process holds the lock',
    ],
    [undefined, undefined],
  ])('says how long a change has waited for the kernel, and why: %s', (failure, why) => {
    const family = (waitingSince: number | undefined) => ({
      healthy: waitingSince === undefined,
      lastUpdated: 1_000,
      waitingSince,
    })
    const status = new Map([
      ['IPv4' as const, family(15_000)],
      ['IPv6' as const, family(undefined)],
    ])
    const kernel = { now: 90_400, healthy: false, status, failure }
    const reason = ['a change has waited 75 s to be written to the kernel', why]
    expect(assessReadiness({ ...READY, kernel }).reasons).toEqual([
      { code: 'change-waits', message: reason.filter((part) => part !== undefined).join(': ') },
    ])
  })

  it.each([
    [
      true,
      { ready: false, reasons: [{ code: 'lock', message: 'the lock is held' }], warnings: [] },
    ],
    [false, { ready: true, reasons: [], warnings: ['the lock is held'] }],
  ])('lists a condition as its reason or as a warning: %j', (blocksReadiness, readiness) => {
    const conditions = [{ reason: 'lock', message: 'the lock is held', blocksReadiness }]
    expect(assessReadiness({ ...READY, conditions })).toEqual(readiness)
  })
})
