import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { designPageFaults } from './design-page.ts'
import { readSources, root } from './source-file.ts'

const files = [
  { path: 'src/sync/loop.ts', text: 'export class Loop {}\nclass Inner {}\nexport const MAX = 1' },
]

function page(...rows: readonly string[]): string {
  return ['# Design', '## Where is it decided?', '', '| question | decided in |', '|---|---|']
    .concat(rows, '', '## What always holds')
    .join('\n')
}

test('each row of "Where is it decided?" names a file and what it declares', async () => {
  const text = readFileSync(join(root, 'docs/design/README.md'), 'utf8')
  expect(designPageFaults(text, await readSources('src'))).toEqual([])
})

test('a row with classes and a constant, exported or not, is right', () => {
  const row =
    '| When? | `src/sync/loop.ts`: `Loop`, `src/sync/loop.ts`: `Inner`; at most `src/sync/loop.ts`: `MAX` |'
  expect(designPageFaults(page(row), files)).toEqual([])
})

test.each([
  ['| When? | `src/sync/gone.ts`: `Loop` |', 'src/sync/gone.ts does not exist'],
  ['| When? | `src/sync/loop.ts`: `Outer` |', 'src/sync/loop.ts declares no Outer'],
  ['| When? | the loop |', 'names no file with a symbol'],
  ['| When? | `src/sync/loop.ts`: `Loop`, `src/sync` |', 'names a path without a symbol'],
])('%s: %s', (row, fault) => {
  expect(designPageFaults(page(row), files)).toEqual([expect.stringContaining(fault)])
})

test('a page without rows is found', () => {
  expect(designPageFaults(page(), files)).toEqual([expect.stringContaining('no rows')])
})
