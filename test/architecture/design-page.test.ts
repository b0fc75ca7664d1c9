import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { designPageFaults, walkFaults } from './design-page.ts'
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

test('each row of the walks names declarations that imports reach', async () => {
  const text = readFileSync(join(root, 'docs/design/walks.md'), 'utf8')
  expect(walkFaults(text, await readSources('src'))).toEqual([])
})

const walked = [
  { path: 'src/a/first.ts', text: "import type { B } from '../b/second.ts'\nexport const a = 1" },
  { path: 'src/b/second.ts', text: 'export interface B {}' },
  { path: 'src/c/other.ts', text: 'export class Other {}' },
]

function walk(...cells: readonly string[]): string {
  return ['# Walks', '## One', '', '| step | where |', '|---|---|']
    .concat(cells.map((cell) => `| It goes on. | ${cell} |`))
    .join('\n')
}

test.each([
  [walk('`src/a/first.ts`: `a`', '`src/b/second.ts`: `B`'), []],
  [
    walk('`src/a/first.ts`: `a`', '`src/c/other.ts`: `Other`'),
    ['src/c/other.ts is not reached from src/a/first.ts'],
  ],
  [walk('`src/a/first.ts`: `b`'), ['src/a/first.ts declares no b']],
  [walk('the store'), ['no rows: One']],
  ['# Walks', ['no walks']],
])('walk %#: %s', (text, faults) => {
  expect(walkFaults(text, walked)).toEqual(faults)
})
