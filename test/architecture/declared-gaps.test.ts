import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { GAPS as iptables } from '../../src/modes/iptables/gaps.ts'
import { GAPS as ipvs } from '../../src/modes/ipvs/gaps.ts'
import { GAPS as userspace } from '../../src/modes/userspace/gaps.ts'
import { root } from './source-file.ts'

test('docs/semantics.md lists exactly what the modes declare that they cannot do', () => {
  const page = readFileSync(join(root, 'docs/semantics.md'), 'utf8')
  const listed = [...page.matchAll(/^\| (iptables|ipvs|userspace) \| .* \|$/gm)].map(([row]) => row)
  const declared = Object.entries({ iptables, ipvs, userspace }).flatMap(([mode, gaps]) =>
    gaps.map(({ scenario, reason }) => `| ${mode} | ${scenario} | ${reason} |`),
  )
  expect(declared).not.toEqual([])
  expect(listed).toEqual(declared)
})
