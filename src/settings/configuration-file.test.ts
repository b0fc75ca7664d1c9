import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type Clock, systemClock } from '../lib/clock.ts'
import { FakeClock } from '../lib/testing/fake-clock.ts'
import { type ConfigWatch, watchConfig } from './configuration-file.ts'
import { SERVER_TABLE } from './testing/server.ts'

let folder: string
let watched: ConfigWatch | undefined
let seen: string[]
let problems: unknown[]

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'config-'))
  seen = []
  problems = []
})
afterEach(async () => {
  watched?.close()
  await rm(folder, { recursive: true })
})

async function start(path: string, text: string, clock: Clock = systemClock) {
  watched = watchConfig(path, {
    clock,
    codes: SERVER_TABLE.codes,
    text,
    onChange: (file) => void seen.push(file.text),
    onUnreadable: (error) => problems.push(error),
  })
  // The folders are watched once a first, fruitless look is done.
  await watched.reread()
  return watched
}

it('sees a file that is written in place', async () => {
  const file = join(folder, 'c.yaml')
  await writeFile(file, 'one')
  await start(file, 'one')
  await writeFile(file, 'two')
  await expect.poll(() => seen).toEqual(['two'])
})

it('sees a file that is replaced, again and again', async () => {
  const file = join(folder, 'c.yaml')
  await writeFile(file, 'one')
  await start(file, 'one')
  for (const text of ['two', 'three']) {
    await writeFile(join(folder, '.swap'), text)
    await rename(join(folder, '.swap'), file)
    await expect.poll(() => seen.at(-1)).toBe(text)
  }
  expect(seen).toEqual(['two', 'three'])
})

it('sees the swap of a mounted ConfigMap', async () => {
  for (const [version, text] of [
    ['..1', 'one'],
    ['..2', 'two'],
  ] as const) {
    await mkdir(join(folder, version))
    await writeFile(join(folder, version, 'c.yaml'), text)
  }
  await symlink('..1', join(folder, '..data'))
  await symlink('..data/c.yaml', join(folder, 'c.yaml'))
  await start(join(folder, 'c.yaml'), 'one')
  await symlink('..2', join(folder, '..data_tmp'))
  await rename(join(folder, '..data_tmp'), join(folder, '..data'))
  await expect.poll(() => seen).toEqual(['two'])
  await rm(join(folder, '..1'), { recursive: true })
  await writeFile(join(folder, '..2', 'c.yaml'), 'three')
  await expect.poll(() => seen).toEqual(['two', 'three'])
  expect(problems).toEqual([])
})

it('sees a change behind a link to another folder', async () => {
  await mkdir(join(folder, 'real'))
  const target = join(folder, 'real', 'target.yaml')
  await writeFile(target, 'one')
  await symlink(target, join(folder, 'c.yaml'))
  await start(join(folder, 'c.yaml'), 'one')
  await writeFile(target, 'two')
  await expect.poll(() => seen).toEqual(['two'])
})

it('reports no change where the content is the same', async () => {
  const file = join(folder, 'c.yaml')
  await writeFile(file, 'one')
  const { reread } = await start(file, 'one').then((watch) => ({ reread: () => watch.reread() }))
  await writeFile(file, 'one')
  await reread()
  expect(seen).toEqual([])
  await writeFile(file, 'two')
  await reread()
  expect(seen).toEqual(['two'])
})

it('keeps what is in force while the file is gone, and sees it come back', async () => {
  const file = join(folder, 'c.yaml')
  await writeFile(file, 'one')
  await start(file, 'one')
  await rm(file)
  await expect.poll(() => problems[0]).toMatchObject({ code: 'UNREADABLE' })
  await writeFile(file, 'two')
  await expect.poll(() => seen).toEqual(['two'])
})

it('looks at the file every ten seconds, also in a folder that was replaced, and reports a failure once', async () => {
  const clock = new FakeClock()
  const own = join(folder, 'own')
  const file = join(own, 'c.yaml')
  await mkdir(own)
  await writeFile(file, 'one')
  const watch = await start(file, 'one', clock)
  await rm(own, { recursive: true })
  /** Lets ten seconds pass; the next reading is planned when the one that is due then has ended. */
  const readNext = async () => {
    await clock.advance(10_000)
    await expect.poll(() => clock.pending()).toContain(10_000)
  }
  for (let round = 0; round < 3; round += 1) await readNext()
  const codes = problems.map((one) => (one as { code?: string }).code)
  expect(codes.filter((code) => code === 'UNREADABLE')).toHaveLength(1)
  await mkdir(own)
  await writeFile(file, 'two')
  await readNext()
  expect(seen).toEqual(['two'])
  const reported = problems.length
  await rm(own, { recursive: true })
  await watch.reread()
  expect(problems.length).toBeGreaterThan(reported)
})

it('sees nothing any more once closed', async () => {
  const file = join(folder, 'c.yaml')
  await writeFile(file, 'one')
  const watch = await start(file, 'one')
  watch.close()
  await writeFile(file, 'two')
  await watch.reread()
  expect([seen, problems]).toEqual([[], []])
})
