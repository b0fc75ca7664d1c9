import { expect, test } from 'vitest'
import { createAffinityMemory, openColumns } from './affinity-memory.ts'
import { HEADER, layoutOf } from './layout.ts'
import { NO_CHANCE } from './testing/fixtures.ts'

test.each([1024, 4097, 8192, 16_385, 65_536, 262_145, 1_000_000, 2 ** 20 + 64, 2 ** 24])(
  'a table for %i clients has at most 64 bytes for each',
  (capacity) => {
    const { words, shards, slotsPerShard } = layoutOf(capacity)
    expect((words * 4) / capacity).toBeLessThanOrEqual(64)
    expect(shards * slotsPerShard).toBeGreaterThanOrEqual(capacity)
  },
)

test.each([
  [1, 1, 1, 2],
  [8191, 1, 8191, 8192],
  [8192, 2, 4480, 4096],
  [1_000_000, 64, 16_375, 16_384],
])('%i clients: %i shards of %i slots and %i buckets', (capacity, shards, slots, buckets) => {
  const layout = layoutOf(capacity)
  expect(layout).toMatchObject({ shards, slotsPerShard: slots, bucketsPerShard: buckets })
})

test('the parts follow one another and end with the memory', () => {
  const memory = createAffinityMemory(10_000, NO_CHANCE)
  const { header, shards, buckets, key, ...rest } = openColumns(memory)
  const { token, time, era, next, newer, older } = rest
  const parts = [shards, buckets, ...key, token, time, era, next, newer, older]
  const ends = parts.map(({ byteOffset, byteLength }) => byteOffset + byteLength)
  expect(parts.slice(1).map(({ byteOffset }) => byteOffset)).toEqual(ends.slice(0, -1))
  expect(ends.at(-1)).toBe(memory.byteLength)
  expect(shards.byteOffset % 64).toBe(0)
  expect(header.byteLength).toBe(memory.byteLength)
})

test('the key of the hash is what chance gave', () => {
  const draws = [7, 2 ** 32 - 1]
  const { header } = openColumns(createAffinityMemory(1, { below: () => draws.shift() ?? 0 }))
  expect([header[HEADER.keyLow], header[HEADER.keyHigh]]).toEqual([7, -1])
})

test.each([0, -1, 1.5, Number.NaN, 2 ** 24 + 1])(
  'a table for %s clients is refused',
  (capacity) => {
    expect(() => createAffinityMemory(capacity, NO_CHANCE)).toThrow(RangeError)
  },
)
