import { describe, expect, it } from 'vitest'
import { readyzAnswer } from './answers.ts'
import { assessReadiness, type ReadinessFacts } from './readiness.ts'

const READY: ReadinessFacts = {
  connected: new Map([['services', true]]),
  synced: new Map([['services', true]]),
  apiFailures: new Map([['services', 'refused; check the port']]),
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
      'no watch on services is open: refused; check the port',
    ],
    [{ connected: new Map([['nodes', false]]) }, 'no watch on nodes is open'],
    [{ silence: 'no answer within 8 s' }, 'the API server is silent: no answer within 8 s'],
    [{ connected: new Map() }, 'not connected to the API server yet'],
    [{ synced: new Map([['nodes', false]]) }, 'nodes are not listed yet'],
    [{ applied: false }, 'the rules are not in the kernel yet'],
  ])('says why not: %j', (change, reason) => {
    expect(readyzAnswer(assessReadiness({ ...READY, ...change }))).toEqual({
      code: 503,
      body: { ready: false, reasons: [reason], warnings: [] },
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
      reason.filter((part) => part !== undefined).join(': '),
    ])
  })

  it.each([
    [true, { ready: false, reasons: ['the lock is held'], warnings: [] }],
    [false, { ready: true, reasons: [], warnings: ['the lock is held'] }],
  ])('lists a condition as its reason or as a warning: %j', (blocksReadiness, readiness) => {
    const conditions = [{ message: 'the lock is held', blocksReadiness }]
    expect(assessReadiness({ ...READY, conditions })).toEqual(readiness)
  })
})
