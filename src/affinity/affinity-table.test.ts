import { describe, expect, test } from 'vitest'
import { contentHash } from '../lib/hash.ts'
import { createAffinityMemory, openColumns } from './affinity-memory.ts'
import { AffinityTable } from './affinity-table.ts'
import { ClientKey } from './client-key.ts'
import { client, clientNumber, NO_CHANCE, tableFor } from './testing/fixtures.ts'

const GROUP = contentHash('shop/cart:http/TCP/4')
const ALICE = client('192.0.2.1')
const START = 1_760_000_000_000
const DAY = 86_400

describe('the timeout', () => {
  test.each([
    [-1, 7],
    [0, 7],
    [9_999, 7],
    [10_000, undefined],
    [10_001, undefined],
    [-10_000, undefined],
  ])('of 10 s, %i ms after the last connection', (age, found) => {
    const table = tableFor(8)
    table.remember(GROUP, ALICE, 7, START)
    expect(table.find(GROUP, ALICE, { now: START + age, seconds: 10 })).toBe(found)
  })

  test('runs from the last connection, not from the last question', () => {
    const table = tableFor(8)
    table.remember(GROUP, ALICE, 7, START)
    expect(table.find(GROUP, ALICE, { now: START + 9000, seconds: 10 })).toBe(7)
    expect(table.find(GROUP, ALICE, { now: START + 10_000, seconds: 10 })).toBeUndefined()
    table.remember(GROUP, ALICE, 7, START + 9000)
    expect(table.find(GROUP, ALICE, { now: START + 18_999, seconds: 10 })).toBe(7)
    expect(table.find(GROUP, ALICE, { now: START + 19_000, seconds: 10 })).toBeUndefined()
  })

  test('is the one of the question: shortened or lengthened, it counts at once', () => {
    const table = tableFor(8)
    table.remember(GROUP, ALICE, 7, START)
    const found = [10, 4, 5, 6].map((seconds) =>
      table.find(GROUP, ALICE, { now: START + 5000, seconds }),
    )
    expect(found).toEqual([7, undefined, undefined, 7])
  })

  const wrap = Math.ceil(START / 2 ** 32) * 2 ** 32
  test.each([wrap - 1, wrap, wrap + 2 ** 31 - 1, wrap + 2 ** 31])(
    'is right across the wrap of 32 bits, from %i on',
    (last) => {
      const table = tableFor(8)
      table.remember(GROUP, ALICE, 7, last)
      const at = (age: number) => table.find(GROUP, ALICE, { now: last + age, seconds: DAY })
      expect([-1, 0, 1, DAY * 1000 - 1].map(at)).toEqual([7, 7, 7, 7])
      expect([DAY * 1000, 2 ** 31, 2 ** 32, 3 * 2 ** 32 + 1].map(at)).toEqual(Array(4))
    },
  )
})

describe('who is meant', () => {
  test('groups and addresses are distinguished, IPv4 from IPv6 too', () => {
    const table = tableFor(64)
    const groups = [GROUP, GROUP + 1, (GROUP + 2 ** 32) % 2 ** 52, 0, 2 ** 52 - 1]
    const clients = ['192.0.2.1', '1.2.0.192', '::192.0.2.1', '::ffff:192.0.2.1', '::', '0.0.0.0']
    const pairs = groups.flatMap((group) => clients.map((text) => [group, client(text)] as const))
    for (const [token, [group, who]] of pairs.entries()) table.remember(group, who, token, START)
    const found = pairs.map(([group, who]) => table.find(group, who, { now: START, seconds: 1 }))
    expect(found).toEqual([...pairs.keys()])
    expect(table.size).toBe(30)
  })

  test.each([0, 3, 5, 15, 17])('%i bytes are no address', (length) => {
    expect(() => tableFor(1).forget(GROUP, new Uint8Array(length))).toThrow(TypeError)
  })

  test('a token has 31 bits', () => {
    const table = tableFor(1)
    table.remember(GROUP, ALICE, 2 ** 31 - 1, START)
    expect(table.find(GROUP, ALICE, { now: START, seconds: 1 })).toBe(2 ** 31 - 1)
  })
})

describe('a full table', () => {
  const known = (table: AffinityTable, count: number) =>
    Array.from({ length: count }, (_, n) => n).filter(
      (n) => table.find(GROUP, clientNumber(n), { now: START, seconds: 1 }) !== undefined,
    )

  test('forgets the client that connected the longest ago, and counts it', () => {
    const table = tableFor(3)
    for (const n of [0, 1, 2]) table.remember(GROUP, clientNumber(n), n, START)
    table.remember(GROUP, clientNumber(0), 9, START)
    table.find(GROUP, clientNumber(1), { now: START, seconds: 1 })
    expect([table.size, table.evicted]).toEqual([3, 0])
    table.remember(GROUP, clientNumber(3), 3, START)
    expect(known(table, 6)).toEqual([0, 2, 3])
    table.remember(GROUP, clientNumber(4), 4, START)
    expect(known(table, 6)).toEqual([0, 3, 4])
    table.remember(GROUP, clientNumber(5), 5, START)
    expect(known(table, 6)).toEqual([3, 4, 5])
    expect([table.size, table.evicted, table.capacity]).toEqual([3, 3, 3])
  })

  test('takes a newcomer for one that was forgotten', () => {
    const table = tableFor(2)
    for (const n of [0, 1]) table.remember(GROUP, clientNumber(n), n, START)
    table.forget(GROUP, clientNumber(0))
    table.forget(GROUP, clientNumber(0))
    table.remember(GROUP, clientNumber(2), 2, START)
    expect(known(table, 3)).toEqual([1, 2])
    expect([table.size, table.evicted]).toEqual([2, 0])
  })

  test('of many shards holds as many as it was made for, and no more', () => {
    const table = tableFor(20_000)
    for (let n = 0; n < 20_000; n++) table.remember(GROUP, clientNumber(n), n, START)
    expect([table.size, table.evicted]).toEqual([20_000, 0])
    for (let n = 20_000; n < 60_000; n++) table.remember(GROUP, clientNumber(n), n, START)
    expect([table.size, table.evicted]).toEqual([20_000, 40_000])
    expect(known(table, 60_000)).toHaveLength(20_000)
  })
})

test('a shard that chance gave too many clients forgets its oldest one before the table is full', () => {
  const memory = createAffinityMemory(8192, NO_CHANCE)
  const table = new AffinityTable(memory)
  const columns = openColumns(memory)
  const key = new ClientKey(columns)
  const ofFirstShard = Array.from({ length: 10_000 }, (_, n) => clientNumber(n)).filter((who) => {
    key.set(GROUP, who)
    return key.shard === 0
  })
  const slots = columns.layout.slotsPerShard
  for (const who of ofFirstShard.slice(0, slots + 1)) table.remember(GROUP, who, 7, START)
  expect([table.size, table.evicted]).toEqual([slots, 1])
  const when = { now: START, seconds: 1 }
  const found = ofFirstShard.slice(0, 2).map((who) => table.find(GROUP, who, when))
  expect(found).toEqual([undefined, 7])
})

test('a group is forgotten as a whole, and no other', () => {
  const table = tableFor(20_000)
  for (let n = 0; n < 6000; n++) table.remember(n % 3, clientNumber(n), n, START)
  table.forget(1, clientNumber(1))
  table.forgetGroups(new Set([0]))
  table.forgetGroups(new Set([3]))
  expect(table.size).toBe(3999)
  const found = [0, 1, 2, 3, 4].map((n) =>
    table.find(n % 3, clientNumber(n), { now: START, seconds: 1 }),
  )
  expect(found).toEqual([undefined, undefined, 2, undefined, 4])
  for (let n = 0; n < 6000; n++) table.remember(0, clientNumber(n), n, START)
  expect([table.size, table.evicted]).toEqual([9999, 0])
})

test('two tables of one memory are one table', () => {
  const memory = createAffinityMemory(4, NO_CHANCE)
  const [one, other] = [new AffinityTable(memory), new AffinityTable(memory)]
  one.remember(GROUP, ALICE, 7, START)
  expect(other.find(GROUP, ALICE, { now: START, seconds: 1 })).toBe(7)
  other.forget(GROUP, ALICE)
  expect(one.size).toBe(0)
})
