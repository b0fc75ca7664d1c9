import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import type { Store } from '../store.ts'
import { openEmbeddedStore } from './embedded-store.ts'
import { newDirectory } from './testing/fixtures.ts'

const STORES = 3
const ROUNDS = 3
const PROGRAM = fileURLToPath(new URL('./testing/crash-writer.ts', import.meta.url))

interface Acknowledged {
  /** The last acknowledged count of each writer. */
  readonly counts: ReadonlyMap<string, number>
  readonly revision: number
}

/** Lets a program write, and kills it without warning after so many acknowledgements. */
async function writeUntilKilled(
  directory: string,
  start: number,
  lines: number,
): Promise<Acknowledged> {
  const child = spawn(process.execPath, [PROGRAM, directory, String(start)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  const counts = new Map<string, number>()
  let [seen, revision] = [0, 0]
  for await (const line of createInterface(child.stdout)) {
    const [writer = '', count, at] = line.split(' ')
    counts.set(writer, Number(count))
    revision = Math.max(revision, Number(at))
    if (++seen === lines) child.kill('SIGKILL')
  }
  expect((await ended)[1]).toBe('SIGKILL')
  return { counts, revision }
}

test('acknowledged transactions survive kill -9, and no transaction is there in part', async () => {
  expect.hasAssertions()
  await Promise.all(Array.from({ length: STORES }, () => killAgainAndAgain(newDirectory())))
}, 120_000)

async function killAgainAndAgain(directory: string): Promise<void> {
  let newest = 0
  for (let round = 0; round < ROUNDS; round++) {
    const lines = 1 + Math.floor(Math.random() * 400)
    const { counts, revision } = await writeUntilKilled(directory, round * 100_000, lines)
    expect(revision).toBeGreaterThan(newest)
    const store = await openEmbeddedStore({ directory })
    newest = await store.revision()
    expect(newest).toBeGreaterThanOrEqual(revision)
    for (const [writer, count] of counts) await expectPair(store, writer, count)
    await store.close()
  }
}

async function expectPair(store: Store, writer: string, acknowledged: number): Promise<void> {
  const left = await store.get(`/${writer}/left`)
  const right = await store.get(`/${writer}/right`)
  expect(Number(left?.value)).toBeGreaterThanOrEqual(acknowledged)
  expect([String(left?.value), left?.modRevision]).toEqual([
    String(right?.value),
    right?.modRevision,
  ])
}
