import { expect, test } from 'vitest'
import { StatusError } from '../status/status.ts'
import { type FieldSelector, type Fields, parseFieldSelector } from './field-selector.ts'

function parse(text: string): FieldSelector | undefined {
  const known = ['metadata.name', 'a', 'b']
  const selector = parseFieldSelector(text, (field) => known.find((one) => one === field))
  if (selector instanceof StatusError) throw new Error(selector.status.message)
  return selector
}

test.each([
  ['a=x', { a: 'x' }, true],
  ['a==x', { a: 'y' }, false],
  ['a!=x', { a: 'y' }, true],
  ['a!=', {}, false],
  ['a=', {}, true],
  ['a=x,b!=y', { a: 'x', b: 'y' }, false],
  ['a=x\\,y', { a: 'x,y' }, true],
  ['a=x\\=y', { a: 'x=y' }, true],
  ['a=x\\\\,b=y', { a: 'x\\', b: 'y' }, true],
  ['a=x\\\\\\,y', { a: 'x\\,y' }, true],
])('%s on %j is %s', (text, fields, expected) => {
  expect(parse(text)?.(fields as Fields)).toBe(expected)
})

test('an empty selector selects everything', () => {
  expect(parse('')).toBeUndefined()
})

test('unknown fields and other grammars are refused by name', () => {
  expect(() => parse('spec.nope=x')).toThrow('field label not supported: spec.nope')
  expect(() => parse('a')).toThrow('invalid field selector: "a"')
  expect(() => parse(`a=${'x'.repeat(20_000)}`)).toThrow('too long')
})
