import { expect, test } from 'vitest'
import { timeLeft } from './time-left.ts'

const file = { project: 'unit', workers: 2, recordedMs: 1000 }

test('recorded durations, shared by the workers', () => {
  const slow = { project: 'kernel', workers: 4, recordedMs: 8000 }
  expect(timeLeft([file, file, slow], new Map())).toBe(3000)
  expect(timeLeft([], new Map())).toBe(0)
})

test('a file without a record counts as the mean of its project', () => {
  const unknown = { ...file, recordedMs: undefined }
  const known = new Map([
    ['unit', [2000, 4000]],
    ['kernel', [1]],
  ])
  expect(timeLeft([file, unknown], known)).toBe(2000)
})

test('without any record of the project there is no estimate', () => {
  expect(timeLeft([{ ...file, recordedMs: undefined }], new Map([['kernel', [1]]]))).toBeUndefined()
})
