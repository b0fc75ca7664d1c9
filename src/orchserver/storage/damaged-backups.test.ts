import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openInlineStore } from '../../storage/embedded/testing/inline-store.ts'
import { runProgram } from '../command/program.ts'
import { entriesOf, harmed, populatedStore, seededNumbers } from '../testing/damaged-store.ts'
import { newFolder } from '../testing/new-folder.ts'
import { backUp } from './backup.ts'

const OFFSETS = 220
const ETCD = { servers: [], caFile: '', certFile: '', keyFile: '', prefix: '/' }

async function run(...args: readonly string[]) {
  let [out, err] = ['', '']
  const code = await runProgram(args, {
    stdout: { write: (text) => (out += text) },
    stderr: { write: (text) => (err += text) },
    version: '1',
    loadServer: () => Promise.reject(new Error('not needed')),
  })
  return { code, out, err }
}

test(`a backup that is damaged at any of ${OFFSETS} offsets is refused, or restored as it was`, async () => {
  const { directory, truth } = await populatedStore()
  const folder = newFolder()
  const good = join(folder, 'good')
  await backUp({ dataDir: directory, etcd: ETCD, encryption: { keyFile: '' } }, good)
  const bytes = readFileSync(good)
  const number = seededNumbers(20_261_122)
  const target = newFolder()
  const store = join(target, 'store.sqlite')
  const present = openInlineStore(store, 0)
  await present.txn({
    compare: [],
    operations: [{ op: 'put', key: '/p', value: Buffer.from('x') }],
  })
  await present.close()
  const before = readFileSync(store)
  const content = truth.map(({ key, value }) => [key, value.toString()])
  let refused = 0
  for (let index = 0; index < OFFSETS; index++) {
    const file = join(folder, `damaged-${index}`)
    writeFileSync(file, harmed(bytes, index, number))
    const { code, err } = await run('restore', file, '--replace', `--data-dir=${target}`)
    if (code === 1) {
      refused++
      expect(err).toContain(file)
      expect(err).toMatch(/damaged.*(?:nothing was replaced|another backup|NP_STORAGE)/)
      expect(readFileSync(store).equals(before)).toBe(true)
      continue
    }
    expect({ index, code }).toEqual({ index, code: 0 })
    const restored = openInlineStore(store, Date.now())
    const found = (await entriesOf(restored)).map(({ key, value }) => [key, value.toString()])
    await restored.close()
    expect({ index, found }).toEqual({ index, found: content })
    writeFileSync(store, before)
  }
  expect(refused).toBeGreaterThan(OFFSETS / 2)
}, 120_000)

test('check names the keys of a damaged backup and exits with 1; a good one is 0, none is 2', async () => {
  const { directory } = await populatedStore()
  const good = join(newFolder(), 'good')
  await backUp({ dataDir: directory, etcd: ETCD, encryption: { keyFile: '' } }, good)
  expect(await run('check', good)).toMatchObject({
    code: 0,
    out: expect.stringContaining('intact'),
  })
  const bytes = readFileSync(good)
  bytes.write('X', bytes.indexOf('23 23 23 23'))
  writeFileSync(good, bytes)
  const checked = await run('check', good)
  expect(checked).toMatchObject({ code: 1, err: '' })
  expect(checked.out).toMatch(/"\/\w+\/default\/[^"]*": .*not the one that was written|index/)
  const missing = await run('check', `${good}-missing`)
  expect(missing).toMatchObject({ code: 2, err: expect.stringContaining('NP_ORCHSERVER_CHECK') })
  expect((await run('check', '--nonsense')).code).toBe(2)
})

test('what cannot be checked is named with the reason', async () => {
  const folder = newFolder()
  const absent = await run('check', join(folder, 'none'))
  expect([absent.code, absent.err]).toEqual([2, expect.stringContaining('none" does not exist')])
  const directory = await run('check', folder)
  expect([directory.code, directory.err]).toEqual([2, expect.stringContaining('is not a file')])
  const notFolder = join(folder, 'file')
  writeFileSync(notFolder, '')
  const below = await run('check', join(notFolder, 'backup'))
  expect([below.code, below.err]).toEqual([2, expect.stringContaining('cannot be read: ENOTDIR')])
})
