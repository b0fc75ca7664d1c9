import { describe, expect, test } from 'vitest'
import { ip } from '../forwarding/testing/fixtures.ts'
import { hostPort } from '../lib/ip.ts'
import { stickyChoice, tokenOf } from './sticky-choice.ts'
import { client, tableFor } from './testing/fixtures.ts'

const START = 1_760_000_000_000
const BACKENDS = ['10.0.0.1', '10.0.0.2', '10.0.0.3']

/** One entry with a balancer that takes its backends in turn. */
function setUp(seconds: number | undefined = 10) {
  const table = tableFor(16)
  const entry = {
    seconds: seconds as number | undefined,
    pool: BACKENDS,
    turn: 0,
    now: START,
    whileChoosing: () => {},
  }

  function visit(address: string, failing: readonly string[] = []) {
    const { now, seconds } = entry
    const who = { group: 1, client: client(address), seconds, now }
    const usable = entry.pool.filter((backend) => !failing.includes(backend))
    const pool = usable.map((address) => ({ token: tokenOf(hostPort(ip(address), 80)), address }))
    return stickyChoice(table, who, {
      find: (token) => pool.find((backend) => backend.token === token),
      choose() {
        entry.whileChoosing()
        return pool[entry.turn++ % pool.length]
      },
    })?.address
  }

  return { table, entry, visit }
}

test('a client keeps its backend; others are balanced beside it', () => {
  const { visit } = setUp()
  const visitors = ['192.0.2.1', '192.0.2.2', '192.0.2.1', '192.0.2.3', '192.0.2.2']
  expect(visitors.map((address) => visit(address))).toEqual([0, 1, 0, 2, 1].map((n) => BACKENDS[n]))
})

test('clients behind one address share a backend', () => {
  const { visit } = setUp()
  const behindNat = () => visit('203.0.113.7')
  expect(new Set([behindNat(), behindNat(), behindNat()]).size).toBe(1)
})

test('each connection renews the timeout, and after it the client is balanced again', () => {
  const { entry, visit } = setUp()
  const comeAfter = (ms: number) => {
    entry.now += ms
    return visit('192.0.2.1')
  }
  expect([0, 9999, 9999, 10_000, 9999].map(comeAfter)).toEqual(
    [0, 0, 0, 1, 1].map((n) => BACKENDS[n]),
  )
})

describe('a backend that is not to be had is replaced at once, for good', () => {
  test('because it left the pool', () => {
    const { entry, visit } = setUp()
    visit('192.0.2.1')
    entry.pool = BACKENDS.slice(1)
    expect(visit('192.0.2.1')).toBe('10.0.0.3')
    entry.pool = BACKENDS
    expect(visit('192.0.2.1')).toBe('10.0.0.3')
  })

  test('because it failed', () => {
    const { visit } = setUp()
    expect(visit('192.0.2.1')).toBe('10.0.0.1')
    expect(visit('192.0.2.1', ['10.0.0.1'])).toBe('10.0.0.3')
    expect(visit('192.0.2.1')).toBe('10.0.0.3')
  })
})

test('a client that gets nothing is not remembered', () => {
  const { table, visit } = setUp()
  expect(visit('192.0.2.1', BACKENDS)).toBeUndefined()
  expect(table.size).toBe(0)
})

describe('of two connections at once the first one decides', () => {
  test('of a new client', () => {
    const { entry, visit } = setUp()
    entry.whileChoosing = () => {
      entry.whileChoosing = () => {}
      expect(visit('192.0.2.1')).toBe(BACKENDS[0])
    }
    expect([visit('192.0.2.1'), visit('192.0.2.1')]).toEqual([BACKENDS[0], BACKENDS[0]])
  })

  test('of a client whose backend left', () => {
    const { entry, visit } = setUp()
    visit('192.0.2.1')
    entry.pool = BACKENDS.slice(1)
    const seen: (string | undefined)[] = []
    entry.whileChoosing = () => {
      entry.whileChoosing = () => {}
      seen.push(visit('192.0.2.1'))
    }
    seen.push(visit('192.0.2.1'), visit('192.0.2.1'))
    expect(seen).toEqual(['10.0.0.3', '10.0.0.3', '10.0.0.3'])
  })

  test('of a client whose connections fail', () => {
    const { visit } = setUp()
    visit('192.0.2.1')
    expect(visit('192.0.2.1', ['10.0.0.1'])).toBe('10.0.0.3')
    expect(visit('192.0.2.1', ['10.0.0.1'])).toBe('10.0.0.3')
  })
})

test('affinity is switched on, changed and off while clients come', () => {
  const { table, entry, visit } = setUp()
  entry.seconds = undefined
  const come = () => visit('192.0.2.1')
  expect([come(), come()]).toEqual(['10.0.0.1', '10.0.0.2'])
  expect(table.size).toBe(0)

  entry.seconds = 10
  expect([come(), come()]).toEqual(['10.0.0.3', '10.0.0.3'])
  entry.now += 5000
  entry.seconds = 5
  expect(come()).toBe('10.0.0.1')
  entry.now += 9999
  entry.seconds = 10
  expect(come()).toBe('10.0.0.1')

  entry.seconds = undefined
  expect([come(), come()]).toEqual(['10.0.0.2', '10.0.0.3'])
  table.forgetGroups(new Set([1]))
  entry.seconds = 10
  expect([come(), come()]).toEqual(['10.0.0.1', '10.0.0.1'])
})

test('tokens distinguish addresses and ports, in 31 bits', () => {
  const backends = [
    ['10.0.0.1', 80],
    ['10.0.0.1', 81],
    ['10.0.0.18', 0],
    ['fd00::1', 80],
  ] as const
  const tokens = backends.map(([address, port]) => tokenOf(hostPort(ip(address), port)))
  expect(new Set(tokens).size).toBe(4)
  expect(tokens.every((token) => Number.isInteger(token) && token >= 0 && token < 2 ** 31)).toBe(
    true,
  )
})
