import { expect, test } from 'vitest'
import type { ObjectKey } from '../modes/mode.ts'
import { NormalisedForms } from './delta-tracker.ts'
import { digestOf } from './testing/scripted-mode.ts'

const KEY = 'object' as ObjectKey
const OTHER = 'other' as ObjectKey
const [shown, else_] = [digestOf('shown'), digestOf('else')]

test('three repairs that change nothing make a normalised form', () => {
  const forms = new NormalisedForms()
  expect([1, 2, 3].map(() => forms.learn(KEY, shown))).toEqual([false, false, true])
  expect(forms.get(KEY)).toBe(shown)
  expect(forms.get(OTHER)).toBeUndefined()
})

test('another digest in between restarts the count', () => {
  const forms = new NormalisedForms()
  const learned = [shown, shown, else_, shown, shown].map((digest) => forms.learn(KEY, digest))
  expect(learned).toEqual([false, false, false, false, false])
  expect(forms.get(KEY)).toBeUndefined()
})

test('each object is counted by itself', () => {
  const forms = new NormalisedForms()
  for (const key of [KEY, OTHER, KEY, OTHER]) expect(forms.learn(key, shown)).toBe(false)
})

test('forget discards the normalised form and the repairs counted so far', () => {
  const forms = new NormalisedForms()
  for (let repair = 0; repair < 3; repair++) forms.learn(KEY, shown)
  forms.forget(KEY)
  expect(forms.get(KEY)).toBeUndefined()
  forms.learn(KEY, shown)
  forms.learn(KEY, shown)
  forms.forget(KEY)
  expect(forms.learn(KEY, shown)).toBe(false)
})
