import { mkdtempSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeFolder } from './make-folder.ts'

const place = mkdtempSync(join(tmpdir(), 'make-folder-'))

test('makes what is missing, for this user only, and takes what is there', () => {
  const path = join(place, 'a/b/c')
  makeFolder(path)
  makeFolder(path)
  expect([path, join(place, 'a')].map((one) => statSync(one).mode & 0o777)).toEqual([0o700, 0o700])
  symlinkSync(path, join(place, 'link'))
  makeFolder(join(place, 'link'))
})

test('says at once where none can be made', () => {
  writeFileSync(join(place, 'file'), '')
  expect(() => makeFolder('/proc/x/y')).toThrow('ENOENT')
  expect(() => makeFolder(join(place, 'file'))).toThrow('EEXIST')
  expect(() => makeFolder(join(place, 'file/x'))).toThrow('ENOTDIR')
})
