import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { systemClock } from '../../lib/clock.ts'
import { addWarning } from '../http/handle-request.ts'
import { services } from '../kinds/service/resource.ts'
import type { ApiRequest } from '../request/api-request.ts'
import { RequestDeadline } from '../request/request-deadline.ts'
import { servedVersionsOf } from '../resource/resource.ts'
import { checkFields, type SentFields } from './check-fields.ts'

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
