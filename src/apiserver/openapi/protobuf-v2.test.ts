import { expect, test } from 'vitest'
import { encodeV2 } from './protobuf-v2.ts'

/** Field `number` with a payload that has a length, in hexadecimal. */
const field = (number: number, payload: string): string => {
  const bytes: number[] = []
  for (let rest = number * 8 + 2; rest > 0; rest >>= 7)
    bytes.push(rest > 127 ? (rest & 127) | 128 : rest)
  return Buffer.from([...bytes, payload.length / 2]).toString('hex') + payload
}
const text = (value: string): string => Buffer.from(value).toString('hex')
const encoded = (document: Parameters<typeof encodeV2>[0]): string =>
  encodeV2(document).toString('hex')

test('the smallest document is the 17 bytes that clients were seen to accept', () => {
  const document = { swagger: '2.0', info: { title: 't', version: 'v' }, paths: {} }
  expect(encoded(document)).toBe('0a03322e3012060a01741201764200')
})

test('a definition', () => {
  const schema = {
    type: 'object',
    'x-k': [1],
    required: ['a'],
    enum: ['E'],
    items: { $ref: '#/d/B' },
  }
  const any = (value: string): string => field(2, text(`${value}\n`))
  expect(encoded({ definitions: { A: schema } })).toBe(
    field(
      9,
      field(
        1,
        field(1, text('A')) +
          field(
            2,
            field(19, text('a')) +
              field(20, any('"E"')) +
              field(22, field(1, text('object'))) +
              field(23, field(1, field(1, text('#/d/B')))) +
              field(31, field(1, text('x-k')) + field(2, any('[1]'))),
          ),
      ),
    ),
  )
})

test('an operation with a body and a parameter of each location', () => {
  const patch = {
    parameters: [
      { name: 'body', in: 'body', required: true, schema: { type: 'object' } },
      { name: 'dryRun', in: 'query', type: 'string' },
    ],
    responses: { 200: { description: 'OK' } },
  }
  const parameters = [{ name: 'name', in: 'path', required: true, type: 'string' }]
  const body =
    field(2, text('body')) +
    field(3, text('body')) +
    field(5, field(22, field(1, text('object')))) +
    '2001'
  const query = field(
    3,
    field(2, text('query')) + field(4, text('dryRun')) + field(6, text('string')),
  )
  const path = field(
    4,
    field(2, text('path')) + field(4, text('name')) + field(5, text('string')) + '0801',
  )
  const operation =
    field(8, field(1, field(1, body))) +
    field(8, field(1, field(2, query))) +
    field(9, field(1, field(1, text('200')) + field(2, field(1, field(1, text('OK'))))))
  expect(encoded({ paths: { '/a': { patch, parameters } } })).toBe(
    field(
      8,
      field(
        2,
        field(1, text('/a')) + field(2, field(8, operation) + field(9, field(1, field(2, path)))),
      ),
    ),
  )
})
