import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { MUTATIONS } from './mutations.ts'

const root = new URL('../../..', import.meta.url)
const textOf = (path: string): string => readFileSync(new URL(path, root), 'utf8')

test.each(MUTATIONS)('the fault "$fault" can still be planted, and its test exists', (mutation) => {
  const edits = [mutation, ...(mutation.also ?? [])]
  const unknown = edits.filter(({ file, from }) => !textOf(file).includes(from))
  expect(unknown).toEqual([])
  expect(existsSync(new URL(`test/kernel/${mutation.test}.test.ts`, root))).toBe(true)
})
