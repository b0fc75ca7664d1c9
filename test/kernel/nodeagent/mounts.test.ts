import { existsSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { MountPlan } from '../../../src/nodeagent/plan/container-plan.ts'
import { runCommand } from '../../../src/nodeagent/system/run-command.ts'
import {
  makeInnerPlaces,
  mountForContainer,
} from '../../../src/nodeagent/volumes/container-mounts.ts'

/** Volumes in a folder of the machine: `keys` has the files `token` and `deep/er`, `work` is an emptyDir. */
async function setMounts() {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'np-mounts-')))
  onTestFinished(() => rm(root, { recursive: true }))
  const [keys, work] = [join(root, 'keys'), join(root, 'work')]
  await mkdir(join(keys, 'deep'), { recursive: true })
  await mkdir(work)
  await writeFile(join(keys, 'token'), 'token')
  await writeFile(join(keys, 'deep', 'er'), 'deeper')
  await symlink('/etc', join(keys, 'out'))
  const folderOf = ({ volume }: MountPlan): string => join(root, volume.name)
  const open = async (...mounts: readonly MountPlan[]) => {
    await makeInnerPlaces(mounts, folderOf)
    const made = await mountForContainer(mounts, { folderOf, scratch: join(root, 'mounts_main') })
    onTestFinished(() => made.close())
    return {
      ...made,
      run: (...command: readonly string[]) =>
        runCommand(['nsenter', `--mount=${made.path}`, '--', ...command]),
    }
  }
  return { root, keys, work, open }
}

function keys(path: string, subPath = ''): MountPlan {
  const volume = { kind: 'files', name: 'keys', defaultMode: 0o644, sources: [] } as const
  return { volume, path, isReadOnly: true, subPath }
}

function work(path: string): MountPlan {
  const volume = { kind: 'empty', name: 'work', isInMemory: false } as const
  return { volume, path, isReadOnly: false, subPath: '' }
}

/** The mounts of the machine, but for the network namespaces, which other tests make and delete meanwhile. */
const tableOf = (): string =>
  readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .filter((line) => !line.includes(' /run/netns'))
    .join('\n')

test('volumes appear at places that the machine does not have, and only in the namespace', async () => {
  const { open } = await setMounts()
  const table = tableOf()
  const before = [await readdir('/'), await readdir('/run'), await readdir('/etc')]
  const paths = ['/var/run/np-mounts/a/b', '/np-mounts-root/c', '/etc/np-mounts.conf']
  const { run } = await open(
    keys(paths[0] ?? ''),
    keys(paths[1] ?? ''),
    keys(paths[2] ?? '', 'deep/er'),
  )
  expect(await run('cat', `${paths[0]}/token`, `${paths[1]}/token`, paths[2] ?? '')).toBe(
    'tokentokendeeper',
  )
  expect((await run('ls', '-A', '/run')).split('\n')).toEqual(
    expect.arrayContaining([...(before[1] ?? []), 'np-mounts']) as string[],
  )
  for (const command of [
    ['touch', `${paths[0]}/x`],
    ['touch', `${paths[2]}`],
  ]) {
    await expect(run(...command)).rejects.toThrow('Read-only file system')
  }
  await run('touch', '/run/np-mounts-written')
  expect(paths.filter(existsSync)).toEqual([])
  expect([await readdir('/'), await readdir('/run'), await readdir('/etc')]).toEqual(before)
  expect(tableOf()).toBe(table)
})

test('files with unusual names stay where a place is made beside them', async () => {
  const { root, open } = await setMounts()
  const odd = join(root, 'odd')
  const names = ['a b', 'c\\d', '#e', 'f\tg', 'h\u00a0i', '-j', '"k"', 'l\nm']
  await mkdir(odd)
  for (const name of names) await writeFile(join(odd, name), name)
  await symlink('a b', join(odd, '--link'))
  const { run } = await open(keys(join(odd, 'new')))
  for (const name of names) expect(await run('cat', join(odd, name))).toBe(name)
  expect(await run('cat', join(odd, '--link'), join(odd, 'new', 'token'))).toBe('a btoken')
})

test('a mount over the folder of all volumes hides none of those that are mounted', async () => {
  const { open, work: folder } = await setMounts()
  const { run } = await open(work('/tmp'), keys('/tmp/keys'), keys('/opt/np-mounts-keys'))
  expect(await run('ls', '/tmp')).toBe('keys\n')
  expect(await run('cat', '/tmp/keys/token', '/opt/np-mounts-keys/token')).toBe('tokentoken')
  await run('touch', '/tmp/written')
  expect((await readdir(folder)).sort()).toEqual(['keys', 'written'])
  expect(await readdir(join(folder, 'keys'))).toEqual([])
})

test('a part of a volume that a link leads out of is refused', async () => {
  const { open } = await setMounts()
  await expect(open(keys('/opt/np-mounts', 'out'))).rejects.toThrow(
    'subPath leads out of the volume',
  )
  await expect(open(keys('/opt/np-mounts', 'none'))).rejects.toThrow('the volume has no none')
})

test('a place in an emptyDir that the Pod replaced by a link is refused', async () => {
  const { open, work: folder } = await setMounts()
  const mounts = [work('/opt/np-mounts'), keys('/opt/np-mounts/keys')]
  const { close } = await open(...mounts)
  await close()
  await rm(join(folder, 'keys'), { recursive: true })
  await symlink('/etc', join(folder, 'keys'))
  await expect(open(...mounts)).rejects.toThrow('the Pod has put a link there')
})
