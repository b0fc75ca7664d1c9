import { expect, test } from 'vitest'
import type { Json } from '../../lib/json.ts'
import { examineFields } from './examine-fields.ts'

test.each<[Json, readonly string[]]>([
  [{ apiVersion: 'v1', kind: 'Service', metadata: { name: 'a' }, spec: {} }, []],
  [{ foo: 1, spec: { foo: {} } }, ['foo', 'spec.foo']],
  [{ spec: { ports: [{ port: 1 }, { port: 2, prot: 'TCP' }] } }, ['spec.ports[1].prot']],
  [{ spec: { kind: 'x', ports: [{ kind: 'y' }] } }, ['spec.kind', 'spec.ports[0].kind']],
  [{ metadata: { labels: { any: 'thing', apiVersion: 'x' } } }, []],
  [{ spec: { constructor: 1, toString: 1 } }, ['spec.constructor', 'spec.toString']],
  [JSON.parse('{"__proto__":{"x":1}}') as Json, ['__proto__']],
  [{ metadata: { managedFields: [{ fieldsV1: { 'f:spec': {} } }] } }, []],
])('unknown of the Service %j: %j', (object, unknown) => {
  expect(examineFields('core.v1.Service', object)).toMatchObject({ unknown, mistyped: [] })
})

test.each<[Json, readonly string[]]>([
  [{ spec: { loadBalancerIP: 5 } }, ['spec.loadBalancerIP must be a string, not a number']],
  [{ spec: { externalName: { x: 1 } } }, ['spec.externalName must be a string, not an object']],
  [{ spec: { loadBalancerClass: [1] } }, ['spec.loadBalancerClass must be a string, not a list']],
  [
    { spec: 'text', metadata: [] },
    ['spec must be an object, not a string', 'metadata must be an object, not a list'],
  ],
  [{ spec: { ports: {} } }, ['spec.ports must be a list, not an object']],
  [{ spec: { ports: [{}, true] } }, ['spec.ports[1] must be an object, not a boolean']],
  [{ spec: { selector: 'a=b' } }, ['spec.selector must be an object, not a string']],
  [{ spec: { selector: { a: 1 } } }, ['spec.selector.a must be a string, not a number']],
  [
    JSON.parse('{"metadata":{"labels":{"__proto__":1}}}') as Json,
    ['metadata.labels.__proto__ must be a string, not a number'],
  ],
  [
    { apiVersion: 1, kind: [] },
    ['apiVersion must be a string, not a number', 'kind must be a string, not a list'],
  ],
  [
    { status: { conditions: [{ status: true }] } },
    ['status.conditions[0].status must be a string, not a boolean'],
  ],
  [{ spec: { ports: null, selector: null, type: null, externalIPs: [null] }, metadata: null }, []],
])('mistyped in the Service %j: %j', (object, mistyped) => {
  expect(examineFields('core.v1.Service', object)).toMatchObject({ unknown: [], mistyped })
})

test('an unknown message has no findings', () => {
  expect(examineFields('core.v1.Nothing', { a: 1 })).toMatchObject({ unknown: [], mistyped: [] })
})
