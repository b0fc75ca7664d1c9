import fc from 'fast-check'
import { expect, test } from 'vitest'
import { SharedParts } from './shared-parts.ts'
import { endpoint, service, source } from './testing/fixtures.ts'

/** A string of its own: equal to others, never the same object to begin with. */
const hints = (...names: readonly string[]) => [...names]

test('lists of ports and hints of different objects become one', () => {
  const parts = new SharedParts()
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

test('what is returned equals what was given', () => {
  fc.assert(
    fc.property(fc.array(fc.array(someEndpoint), { maxLength: 8 }), (slices) => {
      const parts = new SharedParts()
      for (const endpoints of slices) {
        const given = source('ns/1', 'ns/a', endpoints)
        expect(parts.source(given)).toEqual(given)
      }
    }),
  )
})

test('endless new names neither grow it for ever nor confuse it', () => {
  const parts = new SharedParts()
  const zones = (zone: string) =>
    parts.source(source('ns/1', 'ns/a', [endpoint('10.0.0.1', { zoneHints: hints(zone) })]))
      .groups[0]?.endpoints[0]?.zoneHints
  const first = zones('zone')
  for (let index = 0; index < 33_000; index++) zones(`zone-${index}`)
  expect(zones('zone')).toEqual(['zone'])
  expect(zones('zone')).not.toBe(first)
  expect(zones('zone')).toBe(zones('zone'))
})
