import { beforeEach, expect, test } from 'vitest'
import { ObjectCache } from './object-cache.ts'
import { readMeta } from './object-meta.ts'

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

test('a complete list ends all doubt', () => {
  cache.watched('a', thing('7'))
  cache.written('a', thing('9'))
  cache.watched('a', thing('3'))
  expect(cache.listed()).toMatchObject([{ before: thing('9'), after: thing('3') }])
  expect(version()).toBe('3')
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
