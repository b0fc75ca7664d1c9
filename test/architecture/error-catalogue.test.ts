import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { catalogueFaults } from './error-catalogue.ts'
import { readSources, root } from './source-file.ts'

const source = { path: 'src/kernel/a.ts', text: "throw new NodeProxyError('NP_KERNEL_GONE', '')" }
const entry = '| NP_KERNEL_GONE | The kernel is gone. | Boot again. |'

test('the codes of src and the rows of docs/errors.md are the same', async () => {
  const catalogue = readFileSync(join(root, 'docs/errors.md'), 'utf8')
  expect(catalogueFaults(await readSources('src'), catalogue)).toEqual([])
})

test('a code with its row is fine, and codes of tests need none', () => {
  const fake = { path: 'src/kernel/a.test.ts', text: "'NP_KERNEL_FAKE'" }
  expect(catalogueFaults([source, fake], entry)).toEqual([])
})

test('a code without a row is found', () => {
  expect(catalogueFaults([source], '')).toEqual([
    'src/kernel/a.ts: NP_KERNEL_GONE does not stand in docs/errors.md',
  ])
})

test('a row without a code is found', () => {
  expect(catalogueFaults([], entry)).toEqual(['docs/errors.md: nothing in src uses NP_KERNEL_GONE'])
})

test('a row that stands there twice is found', () => {
  expect(catalogueFaults([source], `${entry}\n${entry}`)).toEqual([
    'docs/errors.md: NP_KERNEL_GONE stands there twice',
  ])
})

test.each(['| NP_KERNEL_GONE | The kernel is gone. | |', '| NP_KERNEL_GONE | | Boot again. |'])(
  'an incomplete row is found: %s',
  (line) => {
    expect(catalogueFaults([source], line)).toEqual([`docs/errors.md: incomplete row: ${line}`])
  },
)
