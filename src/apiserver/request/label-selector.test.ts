import { expect, test } from 'vitest'
import { StatusError } from '../status/status.ts'
import { type Labels, parseLabelSelector } from './label-selector.ts'

function matches(text: string, labels: Labels): boolean {
  const selector = parseLabelSelector(text)
  if (selector instanceof StatusError) throw new Error(selector.status.message)
  return selector === undefined || selector(labels)
}

test.each([
  ['', {}, true],
  ['a', { a: '' }, true],
  ['a', {}, false],
  ['!a', {}, true],
  ['! a', { a: 'x' }, false],
  ['a=x', { a: 'x' }, true],
  ['a==x', { a: 'y' }, false],
  ['a=', { a: '' }, true],
  ['a!=x', {}, true],
  ['a!=x', { a: 'x' }, false],
  ['a in (x, y)', { a: 'y' }, true],
  ['a in (x,y)', {}, false],
  ['a notin (x,y)', {}, true],
  ['a notin (x,y)', { a: 'x' }, false],
  ['a in (x,y),b!=z,!c', { a: 'x', b: 'y' }, true],
  ['a in (x,y),b!=z,!c', { a: 'x', c: '' }, false],
  ['example.com/a.b_c=X-1', { 'example.com/a.b_c': 'X-1' }, true],
  ['a>1', { a: '2' }, true],
  ['a > 1', { a: '1' }, false],
  ['a>1', {}, false],
  ['a>1', { a: 'x' }, false],
  ['a<10', { a: '9' }, true],
  ['a<010', { a: '10' }, false],
  ['a>9007199254740992', { a: '9007199254740993' }, true],
  ['a>1', { a: '9223372036854775808' }, false],
  ['a>1,b<3', { a: '2', b: '2' }, true],
  ['valueOf', {}, false],
  ['!constructor', {}, true],
])('%s on %j is %s', (text, labels, expected) => {
  expect(matches(text, labels as Labels)).toBe(expected)
})

test.each([
  'a in x',
  'a in (x',
  'a,,b',
  '=x',
  'a b',
  '!',
  'a=b c',
  'a/b/c',
  '-a',
  'a=(',
  'a in ((x))',
  'a>x',
  'a>',
  'a>-1',
  'a>1.5',
  'a>9223372036854775808',
  '>1',
  '-a>1',
  'a>=1',
  'x'.repeat(20_000),
])('%s is refused with the reason', (text) => {
  const selector = parseLabelSelector(text)
  expect(selector).toBeInstanceOf(StatusError)
  expect(selector instanceof StatusError && selector.status).toMatchObject({
    code: 400,
    reason: 'BadRequest',
  })
})
