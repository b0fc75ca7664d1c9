import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  createTemporaryFolder,
  type TemporaryFolder,
} from '../../../client/testing/temporary-folder.ts'
import { systemClock } from '../../../lib/clock.ts'
import { FakeClock } from '../../../lib/testing/fake-clock.ts'
import { sinkContext, sum } from '../testing/sink-context.ts'
import type { AuditSink } from './buffered-sink.ts'
import { type FileSinkOptions, openFileSink, streamSink } from './file-sink.ts'
import { RotatedFile, type RotatedFileOptions } from './rotated-file.ts'

const DAY_MS = 86_400_000

let folder: TemporaryFolder
let path: string
beforeEach(() => {
  folder = createTemporaryFolder()
  path = join(folder.path, 'audit.log')
})
afterEach(() => folder.remove())

async function opened(options: Partial<RotatedFileOptions> = {}) {
  const clock = new FakeClock()
  const failures: unknown[] = []
  const file = new RotatedFile({
    path,
    maxBytes: 20,
    maxBackups: 0,
    maxAgeDays: 0,
    clock,
    onRotationFailure: (error) => void failures.push(error),
    ...options,
  })
  await file.open()
  return { file, clock, failures }
}

/** Files on a disk that takes so many bytes more, and perhaps cannot even make a file shorter. */
function fullDisk(disk: { bytesLeft: number }, canTruncate: boolean): typeof open {
  return async (...parameters) => {
    const handle = await open(...parameters)
    const write = async (bytes: Buffer, offset: number): Promise<{ bytesWritten: number }> => {
      const length = Math.min(bytes.length - offset, disk.bytesLeft)
      if (length === 0) throw Object.assign(new Error('full'), { code: 'ENOSPC' })
      disk.bytesLeft -= length
      return handle.write(bytes, offset, length)
    }
    const truncate = (size: number): Promise<void> =>
      canTruncate ? handle.truncate(size) : Promise.reject(new Error('no'))
    const stat = () => handle.stat()
    const close = () => handle.close()
    return { write, truncate, stat, close } as unknown as FileHandle
  }
}

function names(): readonly string[] {
  return readdirSync(folder.path).toSorted()
}

function textOf(name: string): string {
  return readFileSync(join(folder.path, name), 'utf8')
}

describe('a rotated file', () => {
  test('is readable by its user alone, in a folder that is made', async () => {
    path = join(folder.path, 'a/b/audit.log')
    const { file } = await opened()
    await file.append(['one'])
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(statSync(join(folder.path, 'a')).mode & 0o777).toBe(0o700)
    await file.close()
  })

  test('is put aside under its time before a line would make it too large', async () => {
    const { file, clock } = await opened()
    expect(await file.append(['12345678', 'abcdefghi'])).toEqual({ lines: 2 })
    clock.elapse(1234)
    expect(await file.append(['next', '13 characters'])).toEqual({ lines: 2 })
    expect(names()).toEqual(['audit-2026-01-01T00-00-01.234.log', 'audit.log'])
    expect(textOf('audit-2026-01-01T00-00-01.234.log')).toBe('12345678\nabcdefghi\n')
    expect(textOf('audit.log')).toBe('next\n13 characters\n')
    await file.close()
  })

  test('loses no line and no order when one batch fills several files in the same millisecond', async () => {
    const { file } = await opened()
    const lines = Array.from({ length: 50 }, (_, serial) => `line ${serial}`)
    lines[25] = 'x'.repeat(100)
    expect(await file.append(lines)).toEqual({ lines: 50 })
    const all = names().map((name) => textOf(name))
    expect(all.join('')).toBe(`${lines.join('\n')}\n`)
    expect(all.filter((text) => text.length > 20)).toEqual([`${lines[25]}\n`])
    await file.close()
  })

  test('goes on where the run before ended, and counts what that left', async () => {
    writeFileSync(path, '12345678\n')
    const { file } = await opened()
    await file.append(['abc'])
    expect(textOf('audit.log')).toBe('12345678\nabc\n')
    await file.append(['abcdefgh'])
    expect(textOf('audit.log')).toBe('abcdefgh\n')
    await file.close()
  })

  test('begins a line of its own after one that was cut off', async () => {
    writeFileSync(path, '{"cut')
    const { file } = await opened()
    await file.append(['one', 'two'])
    expect(textOf('audit.log')).toBe('{"cut\none\ntwo\n')
    await file.close()
  })

  test.each(['deleted', 'moved'])('is made again when another program has %s it', async (what) => {
    const { file } = await opened()
    await file.append(['one'])
    if (what === 'deleted') unlinkSync(path)
    else renameSync(path, `${path}.1`)
    await file.append(['two'])
    expect(textOf('audit.log')).toBe('two\n')
    await file.close()
  })

  test('keeps its size in mind when another program truncates it', async () => {
    const { file } = await opened()
    await file.append(['1234567890'])
    writeFileSync(path, '')
    await file.append(['1234567890'])
    expect(names()).toEqual(['audit.log'])
    await file.close()
  })

  test('grows when it cannot be put aside, and is put aside later', async () => {
    const { file, failures } = await opened()
    await file.append(['1234567890'])
    const beyondDates = { now: () => 8.64e15 + 1 }
    const other = new RotatedFile({
      path,
      maxBytes: 20,
      maxBackups: 0,
      maxAgeDays: 0,
      clock: beyondDates,
      onRotationFailure: (error) => void failures.push(error),
    })
    await other.open()
    expect(await other.append(['1234567890', '1234567890'])).toEqual({ lines: 2 })
    expect(textOf('audit.log')).toHaveLength(33)
    expect(failures).toHaveLength(1)
    await file.append(['x'])
    expect(textOf('audit.log')).toBe('x\n')
    await Promise.all([file.close(), other.close()])
  })

  test('removes backups that are too many, and no other file', async () => {
    for (const name of [
      'audit-x.log',
      'audit-2020-01-01.log',
      'audit.log.1',
      'other-2020-01-01T00-00-00.000.log',
    ]) {
      writeFileSync(join(folder.path, name), '')
    }
    const foreign = names()
    const { file, clock } = await opened({ maxBackups: 2 })
    for (let serial = 0; serial < 5; serial++) {
      clock.elapse(1000)
      await file.append([`file number ${serial}`])
    }
    expect(names()).toEqual(
      [
        ...foreign,
        'audit-2026-01-01T00-00-04.000.log',
        'audit-2026-01-01T00-00-05.000.log',
        'audit.log',
      ].toSorted(),
    )
    await file.close()
  })

  test('removes backups that are too old, also those of earlier runs', async () => {
    const old = join(folder.path, 'audit-2025-12-20T00-00-00.000.log')
    writeFileSync(old, '')
    const { file, clock } = await opened({ maxAgeDays: 10 })
    expect(existsSync(old)).toBe(false)
    await file.append(['file number one'])
    await file.append(['file number two'])
    clock.elapse(9 * DAY_MS)
    await file.append(['file number three'])
    clock.elapse(2 * DAY_MS)
    await file.append(['file number four'])
    expect(names()).toEqual([
      'audit-2026-01-10T00-00-00.000.log',
      'audit-2026-01-12T00-00-00.000.log',
      'audit.log',
    ])
    await file.close()
  })

  test('may have a name without an ending', async () => {
    path = join(folder.path, 'audit')
    const { file } = await opened({ maxBackups: 1 })
    await file.append(['file number one', 'file number two', 'file number three'])
    expect(names()).toHaveLength(2)
    await file.close()
  })

  test('may be no file: that is never put aside', async () => {
    path = join(folder.path, 'pipe')
    execFileSync('mkfifo', [path])
    const { file } = await opened()
    expect(await file.append(['1234567890', '1234567890', '1234567890'])).toEqual({ lines: 3 })
    expect(names()).toEqual(['pipe'])
    await file.close()
  })

  test('a disk that is full is a failure that may end, and no half line stays', async () => {
    path = '/dev/full'
    const { file } = await opened()
    const { lines, failure } = await file.append(['one'])
    expect([lines, failure?.canRetry]).toEqual([0, true])
    expect(String(failure?.error)).toContain('ENOSPC')
    await file.close()
  })

  test.each([true, false])(
    'a line that could only be written in part is cut off again, or ended (%s)',
    async (canTruncate) => {
      const disk = { bytesLeft: 7 }
      const { file } = await opened({ maxBytes: 100, open: fullDisk(disk, canTruncate) })
      expect(await file.append(['one'])).toEqual({ lines: 1 })
      expect(await file.append(['two', 'three'])).toMatchObject({ lines: 0 })
      disk.bytesLeft = 100
      expect(await file.append(['two', 'three'])).toEqual({ lines: 2 })
      expect(textOf('audit.log')).toBe(canTruncate ? 'one\ntwo\nthree\n' : 'one\ntwo\ntwo\nthree\n')
      await file.close()
    },
  )

  test('a path that cannot be opened is refused at the start', async () => {
    mkdirSync(path)
    await expect(opened()).rejects.toMatchObject({
      code: 'NP_APISERVER_AUDIT_FILE',
      message: `cannot write ${path}: EISDIR`,
    })
  })
})

const OPTIONS: Omit<FileSinkOptions, 'path'> = { maxBytes: 10_000, maxBackups: 0, maxAgeDays: 0 }

describe('the file sink', () => {
  test('keeps every event of thousands, in order, over many files', async () => {
    const context = sinkContext(systemClock)
    const sink = await openFileSink(context, { ...OPTIONS, path })
    const lines = Array.from({ length: 5000 }, (_, serial) => `{"serial":${serial}}`)
    for (const line of lines) sink.write(line)
    await sink.close()
    const written = names().map((name) => textOf(name))
    expect(written.length).toBeGreaterThan(5)
    expect(written.join('').split('\n').filter(Boolean)).toEqual(lines)
    expect(context.dropped).toEqual([])
  })

  test('a full disk loses no request: failures are counted, and the rest at the end', async () => {
    const context = sinkContext(systemClock)
    const sink = await openFileSink(context, { ...OPTIONS, path: '/dev/full' })
    for (let serial = 0; serial < 10; serial++) sink.write('event')
    await expect.poll(() => context.failed).toContain('log')
    expect(context.dropped).toEqual([])
    await sink.close()
    expect(sum(context.dropped)).toBe(10)
    expect(JSON.stringify(context.logged)).not.toContain('event"')
  })

  test('a folder that vanishes and returns loses nothing that waits', async () => {
    path = join(folder.path, 'in/audit.log')
    const context = sinkContext(systemClock)
    const sink = await openFileSink(context, { ...OPTIONS, path })
    renameSync(join(folder.path, 'in'), join(folder.path, 'out'))
    sink.write('one')
    await expect.poll(() => context.failed).toContain('log')
    renameSync(join(folder.path, 'out'), join(folder.path, 'in'))
    await expect.poll(() => textOf('in/audit.log')).toBe('one\n')
    await sink.close()
  })
})

describe('the sink of a stream', () => {
  const close = async (sink: AuditSink, clock: FakeClock): Promise<void> => {
    const closing = sink.close()
    await clock.advance(2000)
    await closing
  }

  test('writes each event as a line', async () => {
    const chunks: string[] = []
    const stream = new Writable({
      write: (chunk, _encoding, done) => {
        chunks.push(String(chunk))
        done()
      },
    })
    const sink = streamSink(sinkContext(systemClock), stream)
    sink.write('one')
    sink.write('two')
    await sink.close()
    expect(chunks).toEqual(['one\ntwo\n'])
  })

  test('a reader that stands still costs bounded memory, and ends nothing', async () => {
    const clock = new FakeClock()
    const context = sinkContext(clock)
    const sink = streamSink(context, new Writable({ write: () => undefined }))
    const line = 'x'.repeat(1 << 20)
    for (let serial = 0; serial < 100; serial++) sink.write(line)
    expect(sum(context.dropped)).toBeGreaterThan(60)
    await close(sink, clock)
    expect(sum(context.dropped)).toBe(100)
  })

  test('a reader that is gone ends nothing', async () => {
    const clock = new FakeClock()
    const context = sinkContext(clock)
    const stream = new Writable({ write: (_chunk, _encoding, done) => done(new Error('EPIPE')) })
    const sink = streamSink(context, stream)
    sink.write('one')
    await clock.advance(0)
    await close(sink, clock)
    expect(sum(context.dropped)).toBe(1)
  })
})
