import { beforeEach, expect, test } from 'vitest'
import { readMeta } from '../objects/object-meta.ts'
import { ObjectCache } from './object-cache.ts'

interface Thing {
  readonly meta: ReturnType<typeof readMeta>
}

function thing(version: string, uid = 'u', labels: Record<string, string> = {}): Thing {
  const metadata = { name: 'a', uid, resourceVersion: version, labels }
  return { meta: readMeta({ metadata }) }
}

let cache: ObjectCache<Thing>
const version = (): string | undefined => cache.get('a')?.meta.version

beforeEach(() => {
  cache = new ObjectCache<Thing>(({ meta }) => Object.keys(meta.labels))
})

test('news of the watch from before our write do not undo it', () => {
  cache.watched('a', thing('1'))
  cache.written('a', thing('3'))
  expect(cache.watched('a', thing('2'))).toBeUndefined()
  expect(version()).toBe('3')
  expect(cache.watched('a', thing('3'))).toMatchObject({ before: thing('2'), after: thing('3') })
  expect(cache.watched('a', thing('4'))).toMatchObject({ before: thing('3') })
  expect(version()).toBe('4')
})

test('versions are numbers, not texts', () => {
  cache.written('a', thing('10'))
  cache.watched('a', thing('9'))
  expect(version()).toBe('10')
})

test('a write that the watch has overtaken is no news', () => {
  cache.watched('a', thing('3'))
  expect(cache.written('a', thing('2'))).toBeUndefined()
  expect(version()).toBe('3')
})

test('what we deleted does not come back, except under another uid', () => {
  cache.watched('a', thing('1'))
  cache.removed('a', 'u')
  expect(cache.watched('a', thing('2'))).toBeUndefined()
  expect(version()).toBeUndefined()
  cache.watched('a', thing('5', 'v'))
  expect(version()).toBe('5')
  expect(cache.removed('a', 'u')).toBeUndefined()
  expect(version()).toBe('5')
})

test('the end of the one before does not end the one that we created', () => {
  cache.watched('a', thing('1'))
  cache.removed('a', 'u')
  cache.written('a', thing('3', 'v'))
  expect(cache.watched('a', undefined)).toBeUndefined()
  expect(version()).toBe('3')
  cache.watched('a', thing('3', 'v'))
  cache.watched('a', undefined)
  expect(version()).toBeUndefined()
})

test('what we changed and somebody else deleted is gone', () => {
  cache.watched('a', thing('1'))
  cache.written('a', thing('2'))
  cache.watched('a', undefined)
  expect(version()).toBeUndefined()
})

test('a list ends the doubt about a write that it includes', () => {
  cache.watched('a', thing('7'))
  cache.written('a', thing('9'))
  expect(cache.listed('9')).toMatchObject([{ before: thing('9'), after: thing('7') }])
  expect(version()).toBe('7')
})

test('a list from before our write does not undo it', () => {
  cache.watched('a', thing('7'))
  cache.written('a', thing('9'))
  expect([cache.listed('8'), version()]).toEqual([[], '9'])
  expect(cache.watched('a', thing('9'))).toMatchObject({ before: thing('7') })
})

test('nor does it bring back what we deleted, or end what we created', () => {
  cache.watched('a', thing('7'))
  cache.removed('a', 'u')
  expect([cache.listed('8'), version()]).toEqual([[], undefined])
  cache.written('a', thing('10', 'v'))
  expect([cache.listed('9'), version()]).toEqual([[], '10'])
})

test('a second list began after the write: it ends all doubt', () => {
  cache.watched('a', thing('7'))
  cache.removed('a', 'u')
  cache.listed('8')
  expect(cache.listed('8')).toMatchObject([{ before: undefined, after: thing('7') }])
})

test('a list of a server that lost its past ends all doubt', () => {
  cache.watched('a', thing('7'))
  cache.written('a', thing('9'))
  cache.watched('a', thing('3'))
  expect(cache.listed('3')).toMatchObject([{ before: thing('9'), after: thing('3') }])
  expect(version()).toBe('3')
})

test('so does a list whose version cannot be compared, where a version was written', () => {
  cache.watched('a', thing('x'))
  cache.written('a', thing('y'))
  expect([cache.listed('z').length, version()]).toEqual([1, 'x'])
})

test('what is known already is no change', () => {
  cache.watched('a', thing('1'))
  expect(cache.watched('a', thing('1'))).toBeUndefined()
})

test('groups follow their members', () => {
  cache.watched('a', thing('1', 'u', { red: '', blue: '' }))
  cache.watched('a', thing('2', 'u', { red: '' }))
  expect([cache.groupSize('red'), cache.groupSize('blue')]).toEqual([1, 0])
  expect([...cache.group('red')]).toEqual([thing('2', 'u', { red: '' })])
  cache.watched('a', undefined)
  expect(cache.groupSize('red')).toBe(0)
})
