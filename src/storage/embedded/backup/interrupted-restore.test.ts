import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { put, write } from '../../testing/conformance-steps.ts'
import { currentFile, storeFiles } from '../store-file.ts'
import { newDirectory, newStore } from '../testing/fixtures.ts'
import { writeBackup } from './backup.ts'
import { restoreEmbeddedStore } from './restore.ts'

/** The steps that a crash can separate from the one before. */
const STEPS = ['renameSync', 'rmSync', 'fsyncSync'] as const

/** A directory as a killed server left it: the last change is in the log alone. */
async function killedStore() {
  const store = await newStore()
  const from = join(newDirectory(), 'backup')
  await write(store, put('/a', 'backed up'))
  await writeBackup(storeFiles(store.directory).store, from)
  const newest = await write(store, put('/a', 'old'))
  const directory = copyOf(store.directory)
  return { directory, from, newest }
}

function copyOf(directory: string): string {
  const copy = newDirectory()
  fs.cpSync(directory, copy, { recursive: true })
  return copy
}

/** The directory before each step of the work: what a kill -9 at that moment leaves. */
async function momentsOf(directory: string, work: () => Promise<unknown>) {
  const moments: string[] = []
  const restore = beforeEachStep(() => void moments.push(copyOf(directory)))
  onTestFinished(restore)
  await work()
  restore()
  expect(moments.length).toBeGreaterThan(STEPS.length)
  return moments
}

/** Also for modules that were loaded long before; returns the end of it. */
function beforeEachStep(announce: () => void): () => void {
  const spies = STEPS.map((name) => {
    const work: (...args: never[]) => unknown = fs[name]
    return vi.spyOn(fs, name).mockImplementation((...args: unknown[]) => {
      announce()
      return work(...(args as never[]))
    })
  })
  syncBuiltinESMExports()
  return () => {
    for (const spy of spies) spy.mockRestore()
    syncBuiltinESMExports()
  }
}

async function contentOf(directory: string) {
  const store = await newStore({ directory })
  const content = {
    value: String((await store.get('/a'))?.value),
    revision: await store.revision(),
  }
  await store.close()
  return content
}

test('a restore that is killed at any step leaves the old store or the new one whole', async () => {
  const { directory, from, newest } = await killedStore()
  const moments = await momentsOf(directory, () => restoreEmbeddedStore({ from, directory }))
  const restored = await contentOf(directory)
  const contents = await Promise.all(moments.map(contentOf))
  const old = { value: 'old', revision: newest }
  const turn = contents.findIndex(({ value }) => value !== 'old')
  expect(restored.revision).toBeGreaterThan(newest)
  expect(turn).toBeGreaterThan(0)
  expect(contents).toEqual([
    ...contents.slice(0, turn).map(() => old),
    ...contents.slice(turn).map(() => restored),
  ])
})

test('a restore after a killed one begins above the revisions of both replaced stores, whatever the clock', async () => {
  const { directory, from } = await killedStore()
  const moments = await momentsOf(directory, () => restoreEmbeddedStore({ from, directory }))
  const clock = { now: () => 0, after: () => () => undefined }
  for (const moment of moments) {
    const { revision } = await contentOf(copyOf(moment))
    const restored = await restoreEmbeddedStore({ from, directory: moment, clock })
    expect(restored.revision).toBeGreaterThan(revision)
  }
})

test('a backup after a killed restore copies the store that the next start serves', async () => {
  const { directory, from } = await killedStore()
  const moments = await momentsOf(directory, () => restoreEmbeddedStore({ from, directory }))
  for (const moment of moments) {
    const copied = join(newDirectory(), 'copied')
    await writeBackup(currentFile(moment), copied)
    const elsewhere = newDirectory()
    await restoreEmbeddedStore({ from: copied, directory: elsewhere })
    expect((await contentOf(elsewhere)).value).toBe((await contentOf(moment)).value)
  }
})
