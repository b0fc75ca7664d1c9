import { expect, test } from 'vitest'
import type { Json } from '../../lib/json.ts'
import { unknownFields } from './unknown-fields.ts'

test.each<[Json, readonly string[]]>([
  [{ apiVersion: 'v1', kind: 'Service', metadata: { name: 'a' }, spec: {} }, []],
  [{ foo: 1, spec: { foo: {} } }, ['foo', 'spec.foo']],
  [{ spec: { ports: [{ port: 1 }, { port: 2, prot: 'TCP' }] } }, ['spec.ports[1].prot']],
  [{ spec: { kind: 'x', ports: [{ kind: 'y' }] } }, ['spec.kind', 'spec.ports[0].kind']],
  [{ metadata: { labels: { any: 'thing', apiVersion: 'x' } } }, []],
  [{ spec: { ports: [{ targetPort: { any: 1 } }] } }, []],
  [{ spec: { constructor: 1, toString: 1 } }, ['spec.constructor', 'spec.toString']],
  [JSON.parse('{"__proto__":{"x":1}}') as Json, ['__proto__']],
  [{ spec: 'text', metadata: [] }, []],
  [{ metadata: { managedFields: [{ fieldsV1: { 'f:spec': {} } }] } }, []],
])('of the Service %j: %j', (object, unknown) => {
  expect(unknownFields('core.v1.Service', object)).toEqual(unknown)
})

test('nothing is unknown in a message that nobody knows', () => {
  expect(unknownFields('core.v1.Nothing', { a: 1 })).toEqual([])
})
