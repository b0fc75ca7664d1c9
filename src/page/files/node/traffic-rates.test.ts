import { expect, test } from 'vitest'
import { bytesOf, NO_RATES, ratesBetween, serviceCounts, trafficCounts } from './traffic-rates.ts'

test('what a mode does not count is not zero', () => {
  const counts = trafficCounts({ connections: '0', bytesOut: '5' })
  expect(counts).toEqual({
    connections: 0,
    connectionsNow: undefined,
    bytesIn: undefined,
    bytesOut: 5,
  })
  expect(bytesOf(counts)).toBe(5)
  expect(bytesOf(trafficCounts())).toBeUndefined()
})

test('connections of a Service are those of its backends where the mode counts no others', () => {
  const backends = [{ traffic: { connections: '2' } }, { traffic: { connections: '3' } }, {}]
  expect(serviceCounts({ service: 'a/b', total: { bytesIn: '1' }, backends }).connections).toBe(5)
  expect(serviceCounts({ service: 'a/b', total: { connections: '9' }, backends }).connections).toBe(
    9,
  )
  expect(serviceCounts({ service: 'a/b' }).connections).toBeUndefined()
})

test('rates are per second; a counter that fell, or one reading alone, has none', () => {
  const sample = (at: number, connections: string) => ({
    at,
    counts: new Map([['a/b', trafficCounts({ connections })]]),
  })
  expect(ratesBetween(sample(0, '10'), sample(4_000, '30'), 'a/b').connections).toBe(5)
  expect(ratesBetween(sample(0, '10'), sample(4_000, '9'), 'a/b').connections).toBeUndefined()
  expect(ratesBetween(sample(9, '10'), sample(9, '11'), 'a/b').connections).toBeUndefined()
  expect(ratesBetween(undefined, sample(9, '11'), 'a/b')).toEqual(NO_RATES)
  expect(ratesBetween(sample(0, '10'), sample(1, '11'), 'a/c')).toEqual(NO_RATES)
})
