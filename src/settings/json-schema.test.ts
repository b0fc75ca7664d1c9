import { expect, test } from 'vitest'
import { quote, unquoted } from '../lib/quote.ts'
import { configurationSchema, flagsSchema } from './json-schema.ts'
import { mapList } from './map-list.ts'
import { cidrList, cidrPair, ipAddress, portRange, socketAddress } from './network-types.ts'
import {
  boolean,
  duration,
  integer,
  listOf,
  numberUpTo,
  oneOf,
  positiveNumber,
  text,
} from './scalar-types.ts'
import { matchesSchema } from './testing/matches-schema.ts'
import { SERVER_TABLE } from './testing/server.ts'
import type { Raw, ValueType } from './value-type.ts'

test('a schema has each field at its path, with its meaning, its default and what it may be', () => {
  expect(configurationSchema(SERVER_TABLE)).toEqual({
    type: 'object',
    additionalProperties: false,
    properties: {
      role: { description: 'Who answers first.', default: 'main', enum: ['main', 'spare'] },
      listen: {
        type: 'object',
        additionalProperties: false,
        properties: {
          address: expect.objectContaining({ default: '', type: 'string' }),
          timeout: expect.objectContaining({ default: '30s', type: ['string', 'integer'] }),
          tls: {
            type: 'object',
            additionalProperties: false,
            properties: {
              required: {
                description: 'Refuse clients without TLS.',
                default: false,
                type: 'boolean',
              },
            },
          },
        },
      },
      clients: expect.objectContaining({ default: [], type: 'array' }),
    },
  })
})

test('a schema of flags has each field by its flag', () => {
  const { properties } = flagsSchema(SERVER_TABLE)
  expect(Object.keys(properties)).toEqual([
    'role',
    'listen-address',
    'timeout',
    'require-tls',
    'clients',
  ])
  expect(properties['require-tls']).toMatchObject({ type: 'boolean', default: false })
})

const SAMPLES: readonly Raw[] = [
  true,
  0,
  1,
  -1,
  1.5,
  8,
  100,
  '',
  '0',
  '0s',
  '1h2m',
  '1.5h',
  '250ms',
  '30',
  '1d',
  'rr',
  'RR',
  '10.0.0.1',
  '010.0.0.1',
  '10.0.0.256',
  '10.0.0.1:80',
  '10.0.0.1:0',
  '[fd00::1]:80',
  '[10.0.0.1]:80',
  'fd00::1',
  '::ffff:10.0.0.1',
  'localhost:80',
  '10.0.0.0/8',
  '10.0.0.0/33',
  '10.0.0.0/08',
  'fd00::/64',
  'fd00::/129',
  ' 10.0.0.0/8 , fd00::/64 ',
  '10.0.0.0/8,',
  '0-0',
  '80',
  '30000-32767',
  '30000+10',
  '99999',
  'a b',
  [],
  ['a'],
  [''],
  [1],
  ['10.0.0.0/8', 'fd00::/64'],
  ['10.0.0.0/8', '10.0.0.1'],
  [{ name: 'a' }],
  [{ name: 'a', size: 31, more: 1 }],
  [{ size: 1 }],
]

const TYPES: readonly (readonly [string, ValueType<never>])[] = Object.entries({
  boolean,
  text: text(),
  word: text((value) => (/^\w+$/.test(value) ? undefined : 'write a word'), /^\w+$/),
  integer: integer(0, 31),
  positiveNumber: positiveNumber(10),
  numberUpTo: numberUpTo(10),
  duration: duration(),
  minute: duration(60_000),
  oneOf: oneOf(['', 'rr', 'wrr']),
  words: listOf('words', (item) => (/^\w+$/.test(item) ? undefined : 'write words'), /^\w+$/),
  ipAddress,
  socketAddress: socketAddress(80),
  cidrList,
  cidrPair,
  portRange,
  maps: mapList('maps', {
    name: { type: text() },
    size: { type: integer(0, 31), fallback: 0 },
  }),
} as unknown as Record<string, ValueType<never>>)

test.each(TYPES)('the schema of %s refuses no value that the type accepts', (...row) => {
  const [, type] = row
  const accepted = SAMPLES.filter((raw) => type.decode(raw).ok)
  expect(accepted).not.toEqual([])
  expect(accepted.filter((raw) => !matchesSchema(type.schema, raw))).toEqual([])
})

test('what a schema lets through although the type refuses it: the least duration, the bounds of a port', () => {
  const missed = TYPES.flatMap(([name, type]) =>
    SAMPLES.filter((raw) => !type.decode(raw).ok && matchesSchema(type.schema, raw)).map(
      (raw) => `${name} ${unquoted(quote(raw))}`,
    ),
  )
  expect(missed).toEqual([
    ...['0', '0', '0s', '250ms'].map((short) => `minute ${short}`),
    ...['0', '99999'].map((port) => `portRange ${port}`),
  ])
})
