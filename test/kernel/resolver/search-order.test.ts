import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { readQuestion } from '../../../src/orchctl/resolve/question.ts'
import { searchList } from '../../../src/orchctl/resolve/walk.ts'
import { parseResolvConf } from '../../../src/resources/pod-dns.ts'

const SCRIPT = new URL('queried-names.script.ts', import.meta.url).pathname
const CLUSTER = 'search shop.svc.cluster.local svc.cluster.local cluster.local\noptions ndots:5\n'

const LOOKUPS: readonly (readonly [string, string])[] = [
  [CLUSTER, 'web'],
  [CLUSTER, 'web.shop'],
  [CLUSTER, 'web.shop.'],
  [CLUSTER, 'a.b.c.d.e'],
  [CLUSTER, 'a.b.c.d.e.f'],
  ['search x.example y.example\n', 'web'],
  ['search x.example y.example\n', 'web.shop'],
  ['search x.example\noptions ndots:2\n', 'web.shop'],
  ['search x.example\noptions ndots:0\n', 'web'],
  ['search . x.example\noptions ndots:5\n', 'web'],
  ['search x.example\nsearch y.example\n', 'web'],
  ['search x.example\noptions ndots:99\n', `a${'.a'.repeat(14)}`],
  ['search x.example\noptions ndots:99\n', `a${'.a'.repeat(15)}`],
]

test('libc queries for the names of the search list of orchctl, in this order', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'np-search-'))
  const file = join(folder, 'resolv.conf')
  writeFileSync(file, '')
  const apart = ['--net', '--mount', process.execPath, SCRIPT, file, JSON.stringify(LOOKUPS)]
  const { stdout } = await promisify(execFile)('unshare', apart, { timeout: 60_000 })
  rmSync(folder, { recursive: true })
  const expected = LOOKUPS.map(([text, name]) =>
    searchList(readQuestion(name, undefined), parseResolvConf(text)),
  )
  expect(JSON.parse(stdout)).toEqual(expected)
})
