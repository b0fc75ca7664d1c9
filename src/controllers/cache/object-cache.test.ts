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

test('an event from before an own write does not undo it', () => {
  cache.watched('a', thing('1'))
  cache.written('a', thing('3'))
  expect(cache.watched('a', thing('2'))).toBeUndefined()
  expect(version()).toBe('3')
  expect(cache.watched('a', thing('3'))).toMatchObject({ before: thing('1'), after: thing('3') })
  expect(cache.watched('a', thing('4'))).toMatchObject({ before: thing('3') })
  expect(version()).toBe('4')
})

test('a change that an own write hides from the watch is reported with that write', () => {
  cache.watched('a', thing('1'))
  cache.written('a', thing('2', 'u', { red: '' }))
  cache.written('a', thing('3', 'u', { red: '' }))
  expect(cache.watched('a', thing('2', 'u', { red: '' }))).toBeUndefined()
  expect(cache.watched('a', thing('3', 'u', { red: '' }))).toEqual({
    key: 'a',
    before: thing('1'),
    after: thing('3', 'u', { red: '' }),
  })
})

test('the result of a write does not bring back an object whose deletion the watch has delivered', () => {
  cache.watched('a', thing('1'))
  cache.watched('a', undefined)
  expect([cache.written('a', thing('2')), version()]).toEqual([undefined, undefined])
  cache.written('a', thing('5', 'v'))
  expect(version()).toBe('5')
})

test('only the objects that were deleted last are known as deleted', () => {
  for (let serial = 0; serial <= 1_000; serial++) {
    cache.watched('a', thing('1', `u${serial}`))
    cache.watched('a', undefined)
  }
  cache.written('a', thing('2', 'u1'))
  expect(version()).toBeUndefined()
  cache.written('a', thing('2', 'u0'))
  expect(version()).toBe('2')
})

test('versions are numbers, not texts', () => {
  cache.written('a', thing('10'))
  cache.watched('a', thing('9'))
  expect(version()).toBe('10')
})

test('the result of a write is no change when the watch delivered a newer state', () => {
  cache.watched('a', thing('3'))
  expect(cache.written('a', thing('2'))).toBeUndefined()
  expect(version()).toBe('3')
})

test('an object that this replica deleted does not come back, except under another uid', () => {
  cache.watched('a', thing('1'))
  cache.removed('a', 'u')
  expect(cache.watched('a', thing('2'))).toBeUndefined()
  expect(version()).toBeUndefined()
  cache.watched('a', thing('5', 'v'))
  expect(version()).toBe('5')
  expect(cache.removed('a', 'u')).toBeUndefined()
  expect(version()).toBe('5')
})

test('the deletion of an earlier object does not remove the one that this replica created', () => {
  cache.watched('a', thing('1'))
  cache.removed('a', 'u')
  cache.written('a', thing('3', 'v'))
  expect(cache.watched('a', undefined)).toBeUndefined()
  expect(version()).toBe('3')
  cache.watched('a', thing('3', 'v'))
  cache.watched('a', undefined)
  expect(version()).toBeUndefined()
})

test('an object that this replica changed and another client deleted is removed', () => {
  cache.watched('a', thing('1'))
  cache.written('a', thing('2'))
  cache.watched('a', undefined)
  expect(version()).toBeUndefined()
})

test('a list that includes a write replaces its result', () => {
  cache.watched('a', thing('7'))
  cache.written('a', thing('9'))
  expect(cache.listed('9')).toMatchObject([{ before: thing('9'), after: thing('7') }])
  expect(version()).toBe('7')
})

test('a list from before an own write does not undo it', () => {
  cache.watched('a', thing('7'))
  cache.written('a', thing('9'))
  expect([cache.listed('8'), version()]).toEqual([[], '9'])
  expect(cache.watched('a', thing('9'))).toMatchObject({ before: thing('7') })
})

test('a list from before own writes neither restores a deleted object nor removes a created one', () => {
  cache.watched('a', thing('7'))
  cache.removed('a', 'u')
  expect([cache.listed('8'), version()]).toEqual([[], undefined])
  cache.written('a', thing('10', 'v'))
  expect([cache.listed('9'), version()]).toEqual([[], '10'])
})

test('a second list, which began after the write, replaces its result', () => {
  cache.watched('a', thing('7'))
  cache.removed('a', 'u')
  cache.listed('8')
  expect(cache.listed('8')).toMatchObject([{ before: undefined, after: thing('7') }])
})

test('a list of a server that lost its history replaces the results of all writes', () => {
  cache.watched('a', thing('7'))
  cache.written('a', thing('9'))
  cache.watched('a', thing('3'))
  expect(cache.listed('3')).toMatchObject([{ before: thing('9'), after: thing('3') }])
  expect(version()).toBe('3')
})

test('a list whose version cannot be compared replaces the results of writes, too', () => {
  cache.watched('a', thing('x'))
  cache.written('a', thing('y'))
  expect([cache.listed('z').length, version()]).toEqual([1, 'x'])
})

test('a state that the cache has already is no change', () => {
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

test('an assumed state counts until the watch delivers a later one', () => {
  cache.watched('a', thing('1'))
  const undo = cache.assume('a', thing('1', 'u', { bound: '' }))
  expect([...cache.group('bound')]).toHaveLength(1)
  expect(cache.watched('a', thing('1'))).toBeUndefined()
  expect([...cache.group('bound')]).toHaveLength(1)
  const bound = thing('2', 'u', { bound: '' })
  expect(cache.watched('a', bound)).toEqual({ key: 'a', before: thing('1'), after: bound })
  expect(undo()).toBeUndefined()
  expect(version()).toBe('2')
})

test('an assumed state is taken back with a change, to an own write from before it', () => {
  cache.watched('a', thing('1'))
  cache.written('a', thing('2'))
  const assumed = thing('2', 'u', { bound: '' })
  const undo = cache.assume('a', assumed)
  expect(cache.watched('a', thing('2'))).toBeUndefined()
  expect(undo()).toEqual({ key: 'a', before: assumed, after: thing('2') })
  expect([...cache.group('bound')]).toHaveLength(0)
  expect(undo()).toBeUndefined()
})

test('an assumed state outlasts a list that may be from before the write, and not the next one', () => {
  cache.watched('a', thing('1'))
  cache.assume('a', thing('1', 'u', { bound: '' }))
  expect(cache.listed('9')).toEqual([])
  expect([...cache.group('bound')]).toHaveLength(1)
  cache.listed('10')
  expect([...cache.group('bound')]).toHaveLength(0)
})

test('an assumed state does not hide a deletion', () => {
  cache.watched('a', thing('1'))
  const undo = cache.assume('a', thing('1', 'u', { bound: '' }))
  cache.watched('a', undefined)
  expect([version(), undo(), version()]).toEqual([undefined, undefined, undefined])
})
