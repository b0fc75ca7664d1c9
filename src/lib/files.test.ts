import {
  chownSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { makeFolder, placeFile, replaceFile } from './files.ts'

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'np-place-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}

test('makes what is missing, for this user only, and takes what is there', () => {
  const place = newFolder()
  const path = join(place, 'a/b/c')
  makeFolder(path)
  makeFolder(path)
  expect([path, join(place, 'a')].map((one) => statSync(one).mode & 0o777)).toEqual([0o700, 0o700])
  symlinkSync(path, join(place, 'link'))
  makeFolder(join(place, 'link'))
})

test('says at once where none can be made', () => {
  const place = newFolder()
  writeFileSync(join(place, 'file'), '')
  expect(() => makeFolder('/proc/x/y')).toThrow('ENOENT')
  expect(() => makeFolder(join(place, 'file'))).toThrow('EEXIST')
  expect(() => makeFolder(join(place, 'file/x'))).toThrow('ENOTDIR')
})

test('a new file has the given bits from its first moment', async () => {
  const path = join(newFolder(), 'file')
  await placeFile(path, 'text', { mode: 0o600 })
  expect(readFileSync(path, 'utf8')).toBe('text')
  expect(statSync(path).mode & 0o777).toBe(0o600)
})

test.runIf(process.getuid?.() === 0)('a replaced file keeps its bits and its owner', async () => {
  const path = join(newFolder(), 'file')
  writeFileSync(path, 'old', { mode: 0o640 })
  chownSync(path, 1234, 4321)
  await replaceFile(path, 'new')
  const { mode, uid, gid } = statSync(path)
  expect([readFileSync(path, 'utf8'), mode & 0o777, uid, gid]).toEqual(['new', 0o640, 1234, 4321])
})

test('what cannot be moved into place leaves everything as it was', async () => {
  const folder = newFolder()
  const path = join(folder, 'file')
  writeFileSync(path, 'old')
  const move = () => Promise.reject(new Error('no'))
  await expect(placeFile(path, 'new', { mode: 0o600 }, move)).rejects.toThrow('no')
  expect([readFileSync(path, 'utf8'), readdirSync(folder)]).toEqual(['old', ['file']])
  await expect(replaceFile(join(folder, 'none'), 'new')).rejects.toMatchObject({ code: 'ENOENT' })
})
