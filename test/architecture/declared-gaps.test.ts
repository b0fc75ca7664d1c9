import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { MODES } from '../../src/nodeproxy/config/fields/mode-registry.ts'
import { root } from './source-file.ts'

test('docs/semantics.md lists exactly what the modes declare that they cannot do', () => {
  const page = readFileSync(join(root, 'docs/semantics.md'), 'utf8')
  const names = MODES.map(({ name }) => name).join('|')
  const rows = new RegExp(`^\\| (?:${names}) \\| .* \\|$`, 'gm')
  const listed = [...page.matchAll(rows)].map(([row]) => row)
  const declared = MODES.flatMap(({ name, gaps }) =>
    gaps.map(({ scenario, reason }) => `| ${name} | ${scenario} | ${reason} |`),
  )
  expect(declared).not.toEqual([])
  expect(listed.toSorted()).toEqual(declared.toSorted())
})
