import { expect, test } from 'vitest'
import { latencyOf } from './node-api.ts'

test.each([
  ['no change yet', { programming: { count: 0, p50Ms: 0, p99Ms: 0 } }, undefined, undefined],
  ['a daemon that does not report it', {}, undefined, undefined],
  ['zeros are left out', { programming: { count: 1 } }, 0, 0],
  [
    'what is not finite is text',
    { programming: { count: 1, p50Ms: 2, p99Ms: 'Infinity' } },
    2,
    Number.POSITIVE_INFINITY,
  ],
] as const)('latency: %s', (_, status, p50, p99) => {
  expect(latencyOf(status)).toEqual({ p50, p99 })
})
