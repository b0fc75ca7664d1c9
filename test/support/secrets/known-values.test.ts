import { expect, test } from 'vitest'
import { KnownValues } from './known-values.ts'

const at = (places: number, text: string): string => `${'x'.repeat(places)}${text}yz`
const base64 = (text: string): string => Buffer.from(text).toString('base64')

const writings: readonly (readonly [string, (value: string) => string])[] = [
  ['in clear', (value) => `a${value}b`],
  ['in clear', (value) => value.slice(0, 24)],
  ['in clear', (value) => value.slice(-24)],
  ['in clear', (value) => JSON.stringify({ value })],
  ['in clear', encodeURIComponent],
  [
    'percent-encoded',
    (value) => Buffer.from(value).toString('hex').replaceAll(/../g, '%$&').toUpperCase(),
  ],
  ['hex', (value) => Buffer.from(value).toString('hex')],
  ['hex', (value) => Buffer.from(value).toString('hex').toUpperCase()],
  ...[0, 1, 2].flatMap((places): readonly (readonly [string, (value: string) => string])[] => [
    ['base64', (value) => base64(at(places, value))],
    ['base64', (value) => Buffer.from(at(places, value)).toString('base64url')],
    ['base64 of base64', (value) => base64(at(places, base64(value)))],
    ['base64 of base64', (value) => base64(at(places, base64(at(1, value))))],
    ['base64 of base64', (value) => base64(at(places, base64(at(2, value))))],
  ]),
]

test.each(writings)('a value is found that is written %s', (writing, write) => {
  const values = new KnownValues()
  const value = values.make('the password')
  expect(values.foundIn(`before ${write(value)} after`)).toContain(`the password: ${writing}`)
})

test('a value that another program made is found', () => {
  const values = new KnownValues()
  const token = values.know('the token', `eyJhbGciOiJFUzI1NiJ9.${'p'.repeat(50)}.${'s'.repeat(86)}`)
  expect(values.foundIn(`Bearer ${token}`)).toEqual(['the token: in clear'])
})

test('other values are not taken for it', () => {
  const values = new KnownValues()
  values.make('the password')
  const other = new KnownValues().make('another')
  expect(values.foundIn([other, base64(other), encodeURIComponent(other)].join(' '))).toEqual([])
})
