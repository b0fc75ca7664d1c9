import { expect, test } from 'vitest'
import type { ObjectKey } from '../modes/mode.ts'
import { Spellings } from './spellings.ts'
import { digestOf } from './testing/scripted-mode.ts'

const KEY = 'object' as ObjectKey
const OTHER = 'other' as ObjectKey
const [shown, else_] = [digestOf('shown'), digestOf('else')]

test('an object is believed after three repairs that changed nothing', () => {
  const spellings = new Spellings()
  expect([1, 2, 3].map(() => spellings.insists(KEY, shown))).toEqual([false, false, true])
  expect(spellings.get(KEY)).toBe(shown)
  expect(spellings.get(OTHER)).toBeUndefined()
})

test('who shows something else in between starts anew', () => {
  const spellings = new Spellings()
  const said = [shown, shown, else_, shown, shown].map((digest) => spellings.insists(KEY, digest))
  expect(said).toEqual([false, false, false, false, false])
  expect(spellings.get(KEY)).toBeUndefined()
})

test('each object is counted by itself', () => {
  const spellings = new Spellings()
  for (const key of [KEY, OTHER, KEY, OTHER]) expect(spellings.insists(key, shown)).toBe(false)
})

test('what is wanted otherwise is forgotten, doubts included', () => {
  const spellings = new Spellings()
  for (let repair = 0; repair < 3; repair++) spellings.insists(KEY, shown)
  spellings.forget(KEY)
  expect(spellings.get(KEY)).toBeUndefined()
  spellings.insists(KEY, shown)
  spellings.insists(KEY, shown)
  spellings.forget(KEY)
  expect(spellings.insists(KEY, shown)).toBe(false)
})
