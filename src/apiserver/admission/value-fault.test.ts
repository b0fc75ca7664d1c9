import { expect, test } from 'vitest'
import type { Json } from '../../lib/json.ts'
import { valueFault } from './check-fields.ts'

test.each<[string, readonly Json[]]>([
  ['string', ['', 'text']],
  ['bool', [true, false]],
  ['bytes', ['', 'YQ==']],
  ['int32', [0, -0, 2147483647, -2147483648]],
  ['int64', [2147483648, 2 ** 63 - 1024, -(2 ** 63) + 1024]],
  ['intstr.IntOrString', [80, 'http', '50%']],
  ['resource.Quantity', [1, 0.5, '0', '+1', '-.5', '1.', '500m', '1.5Gi', '1E', '1e3', '2E-3']],
  ['meta.v1.Time', ['2024-02-29T23:59:59Z', '2024-01-01T00:00:00.5+02:00']],
  ['meta.v1.MicroTime', ['2024-01-01T00:00:00.000000Z']],
  ['meta.v1.FieldsV1', [{}, 'text', 1]],
  ['authorization.v1.ExtraValue', [[], ['a']]],
  ['core.v1.Nothing', [1]],
])('%s takes %j', (type, values) => {
  expect(values.map((value) => valueFault(type, value))).toEqual(values.map(() => undefined))
})

test.each<[string, Json, string]>([
  ['string', 5, 'must be a string, not a number'],
  ['bytes', { a: 1 }, 'must be a base64 string, not an object'],
  ['bool', 'yes', 'must be a boolean, not a string'],
  ['int32', '80', 'must be an integer of 32 bits, not a string'],
  ['int32', 1.5, 'must be an integer of 32 bits, not 1.5'],
  ['int32', 2147483648, 'must be an integer of 32 bits, not 2147483648'],
  ['int64', 0.5, 'must be an integer of 64 bits, not 0.5'],
  ['int64', '1', 'must be an integer of 64 bits, not a string'],
  ['int64', 2 ** 63, 'must be an integer of 64 bits, not 9223372036854776000'],
  ['int64', -(2 ** 63), 'must be an integer of 64 bits, not -9223372036854776000'],
  ['intstr.IntOrString', 1.5, 'must be a string or an integer of 32 bits, not 1.5'],
  ['intstr.IntOrString', {}, 'must be a string or an integer of 32 bits, not an object'],
  ['resource.Quantity', [], 'must be a quantity such as "500m" or "1Gi", not a list'],
  ['authorization.v1.ExtraValue', [1], 'must be a list of strings, not a list'],
])('%s does not take %j: %s', (type, value, fault) => {
  expect(valueFault(type, value)).toBe(fault)
})

test.each(['', '.', 'm', '1 Gi', '1ki', '1mi', '1e', '1e+', '--1', '1Gi1', `${'1'.repeat(1e5)}x`])(
  'no quantity: %.20s',
  (text) => {
    expect(valueFault('resource.Quantity', text)).toMatch(/^must be a quantity such as .*, not "/)
  },
)

test.each([
  '',
  'yesterday',
  '2024-01-01',
  '2024-01-01T00:00:00',
  '2024-01-01t00:00:00z',
  '2024-02-30T00:00:00Z',
  '2024-13-01T00:00:00Z',
  '2024-01-01T24:00:00Z',
  '2024-01-01T00:00:60Z',
])('no time: %s', (text) => {
  expect(valueFault('meta.v1.Time', text)).toMatch(/^must be a time such as .*, not "/)
})

test.each(['2024-01-01T00:00:00Z', '2024-01-01T00:00:00.123Z', '2024-01-01T00:00:00.1234567Z'])(
  'no time in microseconds: %s',
  (text) => expect(valueFault('meta.v1.MicroTime', text)).toMatch(/05.000000Z", not "2024/),
)
