import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { assignZones, type PlacedEndpoint, zoneHints } from './zone-hints.ts'

const ZONES = ['a', 'b', 'c'] as const

function placed(zone: string, count: number): readonly PlacedEndpoint[] {
  return Array.from({ length: count }, (_, i) => ({ id: `10.0.${zone}.${i}`, zone }))
}

function sizes(assigned: ReadonlyMap<string, string>): Readonly<Record<string, number>> {
  const groups = Map.groupBy(assigned.values(), (zone) => zone)
  return Object.fromEntries([...groups].map(([zone, { length }]) => [zone, length]))
}

test('endpoints are for their own zone while its count allows', () => {
  const endpoints = [...placed('a', 6), ...placed('b', 1)]
  const assigned = assignZones(
    endpoints,
    new Map([
      ['a', 4],
      ['b', 2],
      ['c', 1],
    ]),
  )
  expect(sizes(assigned)).toEqual({ a: 4, b: 2, c: 1 })
  expect(assigned.get('10.0.b.0')).toBe('b')
})

test('the endpoints that a zone gives to others are from all its nodes, whose addresses are neighbours', () => {
  const all = [0, 1, 2, 3].flatMap((node) =>
    Array.from({ length: 25 }, (_, i) => ({ id: `10.244.${node}.${100 + i}`, zone: 'a' })),
  )
  const given = [...assignZones(all, new Map(Object.entries({ a: 50, b: 50 })))]
    .filter(([, zone]) => zone === 'b')
    .map(([id]) => id.split('.')[2])
  const perNode = [...Map.groupBy(given, (node) => node).values()].map(({ length }) => length)
  expect(perNode).toHaveLength(4)
  expect(Math.max(...perNode)).toBeLessThan(20)
})

const endpoints = fc.uniqueArray(
  fc.record({
    id: fc.nat({ max: 5000 }).map((n) => `10.1.0.${n}`),
    zone: fc.constantFrom(...ZONES),
  }),
  { selector: ({ id }) => id, maxLength: 300, size: 'max' },
)
const zones = fc
  .tuple(...ZONES.map(() => fc.integer({ min: 1, max: 64_000 })))
  .map((cpus) => new Map(ZONES.map((zone, i) => [zone as string, cpus[i] ?? 1])))

function assigned(all: readonly PlacedEndpoint[], capacity: ReadonlyMap<string, number>) {
  const found = zoneHints(all, { zones: capacity, incomplete: 0 })
  return found.problem === undefined ? found.zones : undefined
}

describe('whatever the endpoints and zones', () => {
  test('every endpoint is for exactly one zone, and every zone has some', () => {
    fc.assert(
      fc.property(endpoints, zones, (all, capacity) => {
        const found = assigned(all, capacity)
        fc.pre(found !== undefined)
        expect([...found.keys()].toSorted()).toEqual(all.map(({ id }) => id).toSorted())
        expect(Object.keys(sizes(found)).toSorted()).toEqual(ZONES)
      }),
    )
  })

  test('the result does not depend on their order', () => {
    const shuffled = endpoints.chain((all) =>
      fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length })),
    )
    fc.assert(
      fc.property(shuffled, zones, ([all, other], capacity) => {
        const reversed = new Map([...capacity].toReversed())
        expect(assigned(other, reversed)).toEqual(assigned(all, capacity))
      }),
    )
  })

  test('one endpoint more changes at most two hints of other endpoints for each zone, however many there are', () => {
    const one = fc.constantFrom(...ZONES).map((zone) => ({ id: 'new', zone }))
    fc.assert(
      fc.property(endpoints, zones, one, (all, capacity, more) => {
        const before = assigned(all, capacity)
        const after = assigned([...all, more], capacity)
        fc.pre(before !== undefined && after !== undefined)
        const changed = all.filter(({ id }) => before.get(id) !== after.get(id))
        expect(changed.length).toBeLessThanOrEqual(2 * ZONES.length)
      }),
      { numRuns: 500, endOnFailure: true },
    )
  })

  test('a node of 500 more or less changes hardly a hint', () => {
    fc.assert(
      fc.property(endpoints, fc.constantFrom(...ZONES), (all, zone) => {
        const full = new Map(ZONES.map((name) => [name as string, 170 * 4000]))
        const before = assigned(all, full)
        const after = assigned(all, new Map([...full, [zone, 169 * 4000]]))
        fc.pre(before !== undefined && after !== undefined)
        const changed = all.filter(({ id }) => before.get(id) !== after.get(id))
        expect(changed.length).toBeLessThanOrEqual(4)
      }),
    )
  })
})
