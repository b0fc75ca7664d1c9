import { execFileSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { isUnchangedFile, openFilesLimit, readMappings } from './process.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'np-limits-'))
})
afterEach(() => rm(folder, { recursive: true }))

const HEAD = 'Limit                     Soft Limit           Hard Limit           Units\n'

test.each([
  [`${HEAD}Max open files            20000                1048576              files\n`, 20_000],
  [`${HEAD}Max open files            unlimited            unlimited            files\n`, Infinity],
  [HEAD, 1_024],
])('%j', async (text, limit) => {
  const file = join(folder, 'limits')
  await writeFile(file, text)
  expect(openFilesLimit(1_024, file)).toBe(limit)
})

test('a system that does not say gives the usual', () => {
  expect(openFilesLimit(1_024, join(folder, 'none'))).toBe(1_024)
})

const SMAPS = `00400000-00a00000 r-xp 00001000 08:01 42                 /opt/bin/node (deleted)
Size:               6144 kB
Rss:                4096 kB
Shared_Dirty:          0 kB
Private_Dirty:       128 kB
Anonymous:             0 kB
Swap:                  0 kB
00a00000-00b00000 r--p 00601000 08:01 42                 /opt/bin/node
Rss:                 512 kB
Private_Dirty:       512 kB
Anonymous:           512 kB
Swap:                  0 kB
00b00000-00c00000 rw-p 00701000 08:01 42                 /opt/bin/node
Rss:                  64 kB
Anonymous:             0 kB
7f0000000000-7f0000100000 r--p 00000000 00:00 0
Rss:                 100 kB
Anonymous:             0 kB
7f0000200000-7f0000300000 r--p 00000000 08:01 43         /usr/lib/x
Rss:                   0 kB
Swap:                  4 kB
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0  [vsyscall]
Rss:                   0 kB
`

test('only pages that can be read from their file again are given back', () => {
  const mappings = readMappings(SMAPS)
  expect(mappings).toHaveLength(6)
  expect(mappings.filter(isUnchangedFile)).toEqual([
    {
      start: 0x400000n,
      end: 0xa00000n,
      isWritable: false,
      isFile: true,
      residentKib: 4096,
      changedKib: 0,
    },
  ])
})

const PROGRAM = `
import { readFileSync } from 'node:fs'
import { releaseFilePages, releaseMemory } from '${new URL('process.ts', import.meta.url).href}'
const kib = (field) => Number(new RegExp(field + ':\\\\s+(\\\\d+)').exec(readFileSync('/proc/self/status', 'utf8'))[1])
const look = () => ({ file: kib('RssFile'), anonymous: kib('RssAnon') })
let garbage = Array.from({ length: 200_000 }, (_, n) => ({ n, text: 'x'.repeat(n % 50) }))
garbage = undefined
new Intl.DateTimeFormat('de').format()
const before = look()
releaseFilePages()
const between = look()
releaseMemory()
const after = look()
console.log(JSON.stringify({ before, between, after, works: new Intl.NumberFormat('de').format(1234.5) }))
`

test('a process has less memory, and goes on', () => {
  const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', PROGRAM]
  const { before, between, after, works } = JSON.parse(
    execFileSync(process.execPath, args, { encoding: 'utf8' }),
  )
  expect(works).toBe('1.234,5')
  expect(between.file).toBeLessThan(before.file * 0.8)
  expect(after.file).toBeLessThan(before.file * 0.8)
  expect(after.anonymous).toBeLessThan(before.anonymous * 0.9)
})
