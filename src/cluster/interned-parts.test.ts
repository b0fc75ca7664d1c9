import fc from 'fast-check'
import { expect, test } from 'vitest'
import { InternedParts } from './cluster-store.ts'
import { endpoint, service, source } from './testing/fixtures.ts'

/** A new list each time: equal lists are different objects until they are interned. */
const hints = (...names: readonly string[]) => [...names]

test('equal lists of ports and of hints are one list after interning', () => {
  const parts = new InternedParts()
  const near = { zoneHints: hints('zone-a'), nodeHints: hints('node-1') }
  const also = { zoneHints: hints('zone-a'), nodeHints: hints('node-1') }
  const [a] = parts.source(source('ns/1', 'ns/a', [endpoint('10.0.0.1', near)])).groups
  const [b] = parts.source(source('ns/2', 'ns/b', [endpoint('10.0.0.2', also)])).groups
  expect(b?.ports).toBe(a?.ports)
  expect(b?.endpoints[0]?.zoneHints).toBe(a?.endpoints[0]?.zoneHints)
  expect(b?.endpoints[0]?.nodeHints).toBe(a?.endpoints[0]?.nodeHints)
  expect(parts.service(service('ns/b')).ports).toBe(parts.service(service('ns/a')).ports)
})

const name = fc.constantFrom('', 'a', 'b', 'a,b', 'a\0b', '__proto__')
const names = fc.option(fc.array(name, { minLength: 1, maxLength: 3 }), { nil: undefined })
const someEndpoint = fc
  .record({ nodeName: name, zoneHints: names, nodeHints: names, ready: fc.boolean() })
  .map((given) => endpoint('10.0.0.1', given))

test('an interned object equals the given one, whatever its names', () => {
  fc.assert(
    fc.property(fc.array(fc.array(someEndpoint), { maxLength: 8 }), (slices) => {
      const parts = new InternedParts()
      for (const endpoints of slices) {
        const given = source('ns/1', 'ns/a', endpoints)
        expect(parts.source(given)).toEqual(given)
      }
    }),
  )
})

test('a table that is full is emptied, and names are interned anew', () => {
  const parts = new InternedParts()
  const zones = (zone: string) =>
    parts.source(source('ns/1', 'ns/a', [endpoint('10.0.0.1', { zoneHints: hints(zone) })]))
      .groups[0]?.endpoints[0]?.zoneHints
  const first = zones('zone')
  for (let index = 0; index < 33_000; index++) zones(`zone-${index}`)
  expect(zones('zone')).toEqual(['zone'])
  expect(zones('zone')).not.toBe(first)
  expect(zones('zone')).toBe(zones('zone'))
})
