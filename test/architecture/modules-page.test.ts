import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { table } from './import-table.ts'
import { root } from './source-file.ts'

test('docs/design/modules.md shows the import table as it is enforced', () => {
  const page = readFileSync(join(root, 'docs/design/modules.md'), 'utf8')
  const rows = [...page.matchAll(/^\| ([\w/.*]+) \| [^|]+ \| ([^|]+) \|$/gm)].filter(
    ([, module]) => module !== 'module',
  )
  const shown = rows.map(([, module = '', allowed = '']) => [
    module,
    allowed === '–' ? [] : allowed.split(', ').toSorted(),
  ])
  expect(Object.fromEntries(shown)).toEqual(
    Object.fromEntries(
      Object.entries(table).map(([module, allowed]) => [module, allowed.toSorted()]),
    ),
  )
})
