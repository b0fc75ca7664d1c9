import { expect, test } from 'vitest'
import { runInside } from './run-inside.ts'

test('10,000 virtual servers of 10 real servers each: added, listed, flushed, added again', async () => {
  const { ms, ...seen } = (await runInside('ipvs-scale.script.ts')) as {
    readonly ms: Readonly<Record<string, number>>
  }
  expect(seen).toEqual({
    refused: [],
    services: 10_000,
    servers: 100_000,
    said: [10, 10, 10, 10, 10],
    left: [],
    refusedAgain: [],
    serversAgain: 1000,
  })
  // In an order that does not suit the kernel it takes minutes: see src/kernel/ipvs/README.md.
  expect(ms['added again']).toBeLessThan(5000 + 5 * ms['added']!)
})
