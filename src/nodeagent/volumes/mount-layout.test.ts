import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { MountPlan } from '../plan/container-plan.ts'
import type { VolumePlan } from '../plan/volume-plan.ts'
import { hostPath, layOut, placeIn } from './mount-layout.ts'

let machine: string

beforeEach(async () => {
  machine = await realpath(await mkdtemp(join(tmpdir(), 'np-layout-')))
  await mkdir(join(machine, 'run', 'there'), { recursive: true })
  await mkdir(join(machine, 'var'))
  await symlink(join(machine, 'run'), join(machine, 'var', 'run'))
  await symlink(join(machine, 'nowhere'), join(machine, 'var', 'dangling'))
  await writeFile(join(machine, 'file'), '')
})
afterEach(() => rm(machine, { recursive: true }))

const WORK: VolumePlan = { kind: 'empty', name: 'work', isInMemory: false }
const KEYS: VolumePlan = { kind: 'files', name: 'keys', defaultMode: 0o644, sources: [] }

function mount(path: string, volume: VolumePlan = KEYS, subPath = ''): MountPlan {
  return { volume, path: join(machine, path), isReadOnly: true, subPath }
}

const place = (...mounts: readonly MountPlan[]) =>
  layOut(mounts, ({ volume }) => join('/volumes', volume.name))

test('places are found over the links of the machine', async () => {
  const [missing, there] = await place(mount('var/run/there'), mount('var/run/a/b'))
  expect(missing).toMatchObject({ base: join(machine, 'run'), rest: 'a/b' })
  expect(there).toMatchObject({ base: join(machine, 'run', 'there'), rest: '' })
})

test.each([
  [['run/a', 'var/run/a'], 'another volume is mounted there'],
  [['run/a', 'var/run/a/b'], 'it lies in the volume at'],
  [['var/dangling/a'], 'is a link to nothing'],
  [['var/dangling'], 'is a link to nothing'],
  [['file/a'], 'ENOTDIR'],
] as const)('mounts at %j are refused: %s', async (paths, words) => {
  await expect(place(...paths.map((path) => mount(path)))).rejects.toThrow(words)
})

test('a mount in an emptyDir comes to lie in its folder', async () => {
  const [outer, inner] = await place(mount('var/run/a/b'), mount('var/run', WORK))
  expect(inner?.parent).toBe(outer)
  expect(placeIn(outer!, inner!)).toBe('/volumes/work/a/b')
})

test('the agent looks for programs of a container where its volumes are', async () => {
  const placed = await place(
    mount('var/run', WORK),
    mount('var/run/a'),
    mount('opt/tool', KEYS, 'bin/tool'),
  )
  const at = (path: string): string => hostPath(path, placed)
  expect(at(join(machine, 'var/run/x'))).toBe('/volumes/work/x')
  expect(at(join(machine, 'run/x'))).toBe('/volumes/work/x')
  expect(at(join(machine, 'var/run/a/x'))).toBe('/volumes/keys/x')
  expect(at(join(machine, 'opt/tool'))).toBe('/volumes/keys/bin/tool')
  expect(at(join(machine, 'var/runner'))).toBe(join(machine, 'var/runner'))
  expect(at('/usr/bin/env')).toBe('/usr/bin/env')
})
