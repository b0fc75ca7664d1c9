import { existsSync, statSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, readlink, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { writeFiles } from './write-files.ts'

let root: string
let folder: string

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'np-files-'))
  folder = join(root, 'volume')
  await mkdir(folder)
})
afterEach(() => rm(root, { recursive: true }))

function file(path: string, text = path, mode = 0o644) {
  return { path, content: Buffer.from(text), mode, uid: undefined }
}

test.each(['../out', 'a/../../out', '/etc/np-out', '', '.', 'a//b', '..data', '..x/a'])(
  'a path %j is refused, and nothing is written',
  async (path) => {
    await expect(writeFiles(folder, [file('good'), file(path)], undefined)).rejects.toThrow(
      'the path',
    )
    expect([await readdir(root), await readdir(folder)]).toEqual([['volume'], []])
  },
)

test('files that cannot be written leave those of before', async () => {
  await writeFiles(folder, [file('a', 'old')], undefined)
  await expect(writeFiles(folder, [file('b'), file('b/c')], undefined)).rejects.toThrow('ENOTDIR')
  expect(await readFile(join(folder, 'a'), 'utf8')).toBe('old')
  expect((await readdir(folder)).filter((name) => name.startsWith('..'))).toHaveLength(2)
})

test('a new generation takes the place of the old one by one rename', async () => {
  await writeFiles(folder, [file('a', 'old'), file('deep/er', 'old'), file('gone')], undefined)
  const old = await readlink(join(folder, '..data'))
  await writeFiles(folder, [file('a', 'new'), file('deep/er', 'new', 0o400)], undefined)
  const next = await readlink(join(folder, '..data'))
  expect(next).not.toBe(old)
  expect((await readdir(folder)).sort()).toEqual(['..data', next, 'a', 'deep'].sort())
  expect(await readlink(join(folder, 'a'))).toBe('..data/a')
  expect(await readFile(join(folder, 'deep', 'er'), 'utf8')).toBe('new')
  expect(statSync(join(folder, 'deep', 'er')).mode & 0o777).toBe(0o400)
  expect(existsSync(join(folder, 'gone'))).toBe(false)
})

test('a link that an attempt left behind is replaced and not followed', async () => {
  await symlink(root, join(folder, '..data_tmp'))
  await writeFiles(folder, [file('a')], undefined)
  expect(await readdir(root)).toEqual(['volume'])
  expect(await readFile(join(folder, 'a'), 'utf8')).toBe('a')
})
