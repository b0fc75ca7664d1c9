import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Writable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { type ReadLogOptions, readLog } from '../pods/pod-access.ts'
import { type ContainerLog, openContainerLog, previousLog } from './container-log.ts'

let folder: string
let clock: FakeClock

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'np-log-'))
  clock = new FakeClock()
})

afterEach(() => rm(folder, { recursive: true }))

const path = (): string => join(folder, 'main.log')

function say(stream: Writable, words: string): Promise<void> {
  return new Promise((resolve) => stream.write(words, () => resolve()))
}

async function opened(...words: readonly string[]): Promise<ContainerLog> {
  const log = await openContainerLog(path(), clock)
  for (const one of words) {
    await say(log.stdout, one)
    await clock.advance(1_000)
  }
  return log
}

function options(more: Partial<ReadLogOptions> = {}): ReadLogOptions {
  const { signal } = new AbortController()
  const rest = { progress: undefined, tailLines: undefined, since: undefined, signal }
  return { follow: false, timestamps: false, ...rest, ...more }
}

async function read(more: Partial<ReadLogOptions> = {}, file = path()): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of readLog(file, options(more))) parts.push(part)
  return Buffer.concat(parts).toString()
}

test('output is read as it was written, however it came and however long its lines', async () => {
  const long = 'x'.repeat(100_000)
  const log = await opened('a\nb', 'c\n\n', `${long}\n`, 'no end')
  await log.close()
  expect(await read()).toBe(`a\nbc\n\n${long}\nno end`)
})

test('lines by number, by time, with their times', async () => {
  const log = await opened('one\n', 'two\n', `${'x'.repeat(40_000)}\n`, 'four')
  await log.close()
  const start = clock.now() - 4_000
  const time = (seconds: number) => new Date(start + seconds * 1_000).toISOString()
  expect(await read({ tailLines: 1 })).toBe('four')
  expect(await read({ tailLines: 0 })).toBe('')
  expect((await read({ tailLines: 3, timestamps: true })).replace(/x+/, 'x')).toBe(
    `${time(1)} two\n${time(2)} x\n${time(4)} four`,
  )
  expect(await read({ tailLines: 99, since: start + 2_500 })).toBe('four')
})

test('a log of two files is read in order; the run before has its own', async () => {
  const before = await opened('before\n')
  await before.close()
  const log = await opened()
  const lines = Array.from({ length: 110 }, (_, index) => `${index} ${'x'.repeat(100_000)}\n`)
  for (const line of lines) await say(log.stdout, line)
  await log.close()
  expect((await readdir(folder)).toSorted()).toEqual([
    'main.log',
    'main.log.1',
    'main.log.previous',
  ])
  expect(await read()).toBe(lines.join(''))
  expect(await read({}, previousLog(path()))).toBe('before\n')
})

test('a follower gets what comes, through a rotation, until the run is over', async () => {
  const log = await opened('first\n')
  const following = buffer(readLog(path(), options({ follow: true, progress: log.progress })))
  const lines = Array.from({ length: 110 }, (_, index) => `${index} ${'x'.repeat(100_000)}\n`)
  for (const line of lines) {
    await say(log.stdout, line)
    await new Promise(setImmediate)
  }
  await log.close()
  expect((await following).toString()).toBe(`first\n${lines.join('')}`)
})

test('a follower that is over is over', async () => {
  const log = await opened('first\n')
  const over = new AbortController()
  const { signal } = over
  const reading = readLog(path(), options({ follow: true, progress: log.progress, signal }))
  expect((await reading.next()).value?.toString()).toBe('first\n')
  over.abort()
  expect((await reading.next()).done).toBe(true)
  await log.close()
})
