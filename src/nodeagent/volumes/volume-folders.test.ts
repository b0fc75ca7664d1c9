import { chmodSync, statSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openVolumeFolders } from './volume-folders.ts'

test('the folders are for the agent alone, and empty at the start and at the end', async () => {
  const root = await mkdtemp(join(tmpdir(), 'np-folders-'))
  onTestFinished(() => rm(root, { recursive: true }))
  const [folder, kept] = [join(root, 'volumes'), join(root, 'kept')]
  await writeFile(kept, 'kept')
  for (const left of ['memory', 'disk']) {
    await mkdir(join(folder, left, 'u1'), { recursive: true })
    await symlink(root, join(folder, left, 'link'))
    chmodSync(join(folder, left), 0o777)
  }
  const folders = await openVolumeFolders(folder, () => undefined)
  onTestFinished(() => folders.close())
  for (const path of [folders.memory, folders.disk]) {
    expect(await readdir(path)).toEqual([])
    expect(statSync(path).mode & 0o777).toBe(0o700)
    await writeFile(join(path, 'token'), 'token')
  }
  const mount = (await readFile('/proc/mounts', 'utf8'))
    .split('\n')
    .map((line) => line.split(' '))
    .find(([, path]) => path === folders.memory)
  // Who may not mount has a folder of the disk instead.
  expect(mount?.[3] ?? 'nosuid,nodev').toMatch(/nosuid,nodev/u)
  const again = await openVolumeFolders(folder, () => undefined)
  expect(await readdir(again.memory)).toEqual([])
  await writeFile(join(again.memory, 'token'), 'token')
  await again.close()
  for (const path of [folders.memory, folders.disk]) expect(await readdir(path)).toEqual([])
  expect(await readFile(kept, 'utf8')).toBe('kept')
})
