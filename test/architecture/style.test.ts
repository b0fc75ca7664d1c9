import { expect, test } from 'vitest'
import { readSources } from './source-file.ts'
import { literalSpreads, shortWaits, styleFaults } from './style.ts'

test('src keeps the rules of style that no linter checks', async () => {
  const sources = await readSources('src')
  expect(sources.flatMap(styleFaults)).toEqual([])
})

test('no test waits for one second only', async () => {
  const sources = [...(await readSources('test')), ...(await readSources('bench'))]
  expect(sources.flatMap(shortWaits)).toEqual([])
})

test('no file outside of src spreads a literal', async () => {
  const sources = [...(await readSources('test')), ...(await readSources('bench'))]
  expect(sources.flatMap(literalSpreads)).toEqual([])
})

const faulty: readonly (readonly [path: string, text: string, fault: string])[] = [
  ['src/lib/a.ts', 'export default 1', 'default export'],
  ['src/lib/a.ts', 'class Queue extends Map {}', 'class Queue inherits from Map'],
  ['src/lib/a.ts', 'let count = 0', 'mutable state'],
  ['src/lib/a.ts', 'export var count = 0', 'mutable state'],
  ['src/lib/a.ts', '// TODO: later', 'placeholder'],
  ['src/lib/a.test.ts', "vi.mock('node:fs')", 'mocks a module'],
  ['src/lib/a.test.ts', 'await vi.waitFor(() => read())', 'waits for one second'],
  ['src/lib/a.ts', "import { b } from '../kernel/b'", 'without its extension'],
  ['src/lib/a.ts', 'const a = { ...{ b: 1 }, c: 2 }', 'spreads a literal'],
  ['src/lib/a.ts', 'const a = [...[1, 2], 3]', 'spreads a literal'],
  ['src/lib/a.ts', 'call(...[1, 2])', 'spreads a literal'],
  ['src/lib/utils.ts', 'export const a = 1', 'says nothing'],
  ['src/lib/string-helpers.ts', 'export const a = 1', 'says nothing'],
  ['src/common/a.ts', 'export const a = 1', 'says nothing'],
]

test.each(faulty)('%s: %s is found', (path, text, fault) => {
  expect(styleFaults({ path, text })).toEqual([expect.stringContaining(fault)])
})

test.each([
  'class Refused extends Error {}',
  'await vi.waitFor(() => read(), { timeout: 30_000 })',
  'const counts = new Map<string, number>()',
  'const a = { ...(b ? { c: 1 } : {}), ...d }; const e = [...f, ...[1].map(g)]',
  'function count() { let n = 0; return ++n }',
])('%s is allowed', (text) => {
  expect(styleFaults({ path: 'src/kernel/spawner/helper.ts', text })).toEqual([])
})
