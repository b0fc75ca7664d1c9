import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { systemClock } from '../../lib/clock.ts'
import type { Json } from '../../lib/json.ts'
import { addWarning } from '../http/handle-request.ts'
import { services } from '../kinds/service/resource.ts'
import { type ApiRequest, waitWithoutSlot } from '../request/api-request.ts'
import { RequestDeadline } from '../request/request-deadline.ts'
import { servedVersionsOf } from '../resource/resource.ts'
import { checkFields, examineFields, type SentFields } from './check-fields.ts'

function check(directive: string | undefined, sent: SentFields) {
  const response = new ServerResponse(new IncomingMessage(new Socket()))
  const query = new URLSearchParams(directive === undefined ? {} : { fieldValidation: directive })
  const request: ApiRequest = {
    method: 'POST',
    user: { name: 'ann', groups: [] },
    served: servedVersionsOf(services)[0]!,
    namespace: 'default',
    name: '',
    subresource: '',
    query,
    accept: '*/*',
    contentType: '',
    userAgent: '',
    body: Buffer.alloc(0),
    deadline: new RequestDeadline({ clock: systemClock, timeoutMs: 1000, response }),
    waitForOthers: waitWithoutSlot,
    warn: (text) => addWarning(response, text),
  }
  const refusal = checkFields(request, sent)
  return { refusal: refusal?.status, warnings: response.getHeader('Warning') }
}

const sent = {
  object: { spec: { foo: 1 } },
  body: Buffer.from('{"spec":{"foo":1},"kind":"Service","kind":"Service"}'),
}

test('Strict refuses, in the words that clients know', () => {
  expect(check('Strict', sent)).toEqual({
    refusal: {
      code: 400,
      reason: 'BadRequest',
      message:
        'Service in version "v1" cannot be handled as a Service: strict decoding error: duplicate field "kind", unknown field "spec.foo"',
    },
    warnings: undefined,
  })
})

test.each([undefined, '', 'Warn'])('%j warns', (directive) => {
  const warnings = ['299 - "duplicate field \\"kind\\""', '299 - "unknown field \\"spec.foo\\""']
  expect(check(directive, sent)).toEqual({ refusal: undefined, warnings })
})

test('Ignore says nothing', () => {
  expect(check('Ignore', sent)).toEqual({ refusal: undefined, warnings: undefined })
})

test('another directive is refused', () => {
  expect(check('strict', sent).refusal).toMatchObject({ code: 400 })
})

test('problems that the object had before are not reported', () => {
  const object = { spec: { foo: 2, bar: 1 } }
  expect(check('Strict', { object, before: { spec: { foo: 1 } } }).refusal?.message).toMatch(
    /strict decoding error: unknown field "spec.bar"$/,
  )
})

test('warnings are short, few and printable', () => {
  const names = Array.from({ length: 200 }, (_, index) => [`${index}\n\u2028${'x'.repeat(999)}`, 1])
  const { warnings } = check('Warn', { object: Object.fromEntries(names) })
  expect(String(warnings)).toMatch(/^[\x20-\x7e]{500,4200}$/)
})

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
