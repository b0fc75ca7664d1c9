import { fstatSync, read, readSync, write, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { promisify } from 'node:util'
import { NodeProxyError } from '../../lib/error.ts'
import {
  checkJob,
  type Helper,
  type HelperEvents,
  type JobFiles,
  type JobReport,
} from './helper.ts'
import { startPosixSpawn } from './posix-spawn.ts'
import type { Exit, Job, ProgramResult, ProgramRunner } from './program-runner.ts'
import { startShellHelper } from './shell-helper.ts'

/** Files of at least this size are read and written in pieces, off the event loop. */
const PIECE = 256 * 1024

/** The time between SIGTERM and SIGKILL, and between SIGKILL and giving up. */
const GRACE_MS = 1000

interface Running {
  pid: number
  timedOut: boolean
  timer: NodeJS.Timeout | undefined
  readonly end: (report: JobReport) => void
  readonly fail: (error: Error) => void
}

/** How programs are started: see `startPosixSpawn` and `startShellHelper`. */
export type Starting = 'posix-spawn' | 'shell'

interface SpawnerOptions {
  /** Where a helper shell keeps its files: best on a memory file system such as /run. */
  readonly runtimeDirectory?: string
  /** Absent: by posix_spawn where that is possible. */
  readonly starting?: Starting
}

/** Runs programs without blocking the event loop in proportion to the memory of this process, as forking would. */
export class Spawner implements ProgramRunner {
  readonly #startHelper: (events: HelperEvents) => Helper
  readonly #running = new Map<number, Running>()
  #helper: Helper | undefined
  #lastId = 0
  #tail: Promise<unknown> = Promise.resolve()
  readonly #open = new Set<Promise<unknown>>()
  #closed = false

  constructor({ runtimeDirectory = tmpdir(), starting }: SpawnerOptions = {}) {
    this.#startHelper = (events) =>
      (starting === 'shell' ? undefined : startPosixSpawn(events)) ??
      startShellHelper(runtimeDirectory, events)
    this.#start()
  }

  async run(job: Job): Promise<ProgramResult> {
    return this.#schedule(job, async (files, exit) => {
      return { ...exit, stdout: await readText(files.output) }
    })
  }

  async runLines(job: Job, onLine: (line: string) => void): Promise<Exit> {
    return this.#schedule(job, async (files, exit) => {
      await readLines(files.output, onLine)
      return exit
    })
  }

  async close(): Promise<void> {
    this.#closed = true
    await Promise.allSettled(this.#open)
    this.#helper?.end()
    this.#helper = undefined
  }

  #schedule<T>(job: Job, finish: (files: JobFiles, exit: Exit) => Promise<T>): Promise<T> {
    if (this.#closed) return Promise.reject(lost('the spawner is closed'))
    const id = ++this.#lastId
    try {
      checkJob(job)
    } catch (error) {
      return Promise.reject(error)
    }
    const execute = () => this.#execute({ id, job }, finish)
    const result = job.concurrent === true ? execute() : this.#tail.then(execute)
    const settled = result.then(noop, noop)
    if (job.concurrent !== true) this.#tail = settled
    this.#open.add(settled)
    void settled.then(() => this.#open.delete(settled))
    return result
  }

  async #execute<T>(
    task: { readonly id: number; readonly job: Job },
    finish: (files: JobFiles, exit: Exit) => Promise<T>,
  ): Promise<T> {
    const helper = this.#helper ?? this.#start()
    const files = helper.openFiles(task.id)
    try {
      await writeInput(files.input, task.job.stdin ?? '')
      const { report, timedOut } = await this.#await(task, helper, files)
      const exit = { status: report.status ?? 0, pid: report.pid, timedOut }
      return await finish(files, { ...exit, stderr: await readText(files.errors) })
    } finally {
      files.close()
    }
  }

  #await({ id, job }: { readonly id: number; readonly job: Job }, helper: Helper, files: JobFiles) {
    return new Promise<{ report: JobReport; timedOut: boolean }>((resolve, reject) => {
      if (helper !== this.#helper) return reject(lost('the helper ended'))
      const running: Running = {
        pid: 0,
        timedOut: false,
        timer: setTimeout(() => this.#terminate(running, 'SIGTERM'), job.timeoutMs),
        end: (report) => resolve({ report, timedOut: running.timedOut }),
        fail: reject,
      }
      this.#running.set(id, running)
      helper.hold(true)
      helper.start(id, job, files)
    })
  }

  /** Sends SIGTERM, then SIGKILL; if the program still runs (stuck in the kernel), gives up the helper. */
  #terminate(running: Running, signal: 'SIGTERM' | 'SIGKILL'): void {
    running.timedOut = true
    signalProcess(running.pid, signal)
    const next =
      signal === 'SIGTERM'
        ? () => this.#terminate(running, 'SIGKILL')
        : () => this.#lose(this.#helper, 'a program cannot be stopped')
    running.timer = setTimeout(next, GRACE_MS)
  }

  #start(): Helper {
    const helper: Helper = this.#startHelper({
      onReport: (report) => this.#report(report),
      onExit: (reason) => this.#lose(helper, reason),
    })
    this.#helper = helper
    return helper
  }

  #report(report: JobReport): void {
    const running = this.#running.get(report.id)
    if (running === undefined) return
    running.pid = report.pid
    if (report.status === undefined) return
    this.#settle(report.id, running)
    running.end(report)
  }

  /** Called when the helper has ended: stops its programs, so that the next job runs alone. */
  #lose(helper: Helper | undefined, reason: string): void {
    if (helper === undefined || helper !== this.#helper) return
    helper.end()
    this.#helper = undefined
    for (const [id, running] of this.#running) {
      this.#settle(id, running)
      signalProcess(running.pid, 'SIGKILL')
      running.fail(lost(reason))
    }
  }

  #settle(id: number, running: Running): void {
    clearTimeout(running.timer)
    this.#running.delete(id)
    if (this.#running.size === 0) this.#helper?.hold(false)
  }
}

function signalProcess(pid: number, signal: NodeJS.Signals): void {
  if (pid === 0) return
  try {
    process.kill(pid, signal)
  } catch {
    // it ended by itself
  }
}

function lost(reason: string): NodeProxyError {
  return new NodeProxyError('NP_KERNEL_SPAWNER', `an external program was lost: ${reason}`, {
    hint: 'what it did is unknown: look at the kernel again; the next program starts a new helper',
  })
}

function noop(): void {}

const readAt = promisify(read)
const writeAt = promisify(write)

/** Writes the whole input before the program starts, so that it is complete even if the daemon is killed. */
async function writeInput(fd: number, text: string | Iterable<string>): Promise<void> {
  if (typeof text === 'string' && text.length < PIECE) {
    const bytes = Buffer.from(text)
    for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at, bytes.length - at, at)
    return
  }
  let position = 0
  for (const piece of pieces(typeof text === 'string' ? [text] : text)) {
    const bytes = Buffer.from(piece)
    for (let at = 0; at < bytes.length; ) {
      const { bytesWritten } = await writeAt(fd, bytes, at, bytes.length - at, position + at)
      at += bytesWritten
    }
    position += bytes.length
  }
}

/** Joins small chunks, so that a text of many short lines costs few writes. */
function* pieces(chunks: Iterable<string>): Generator<string> {
  let piece = ''
  for (const chunk of chunks) {
    piece += chunk
    if (piece.length < PIECE) continue
    yield piece
    piece = ''
  }
  if (piece !== '') yield piece
}

/** The contents of a file as text. */
async function readText(fd: number): Promise<string> {
  const bytes = Buffer.allocUnsafe(fstatSync(fd).size)
  let filled = 0
  while (filled < bytes.length) {
    const length = bytes.length - filled
    const count =
      bytes.length <= PIECE
        ? readSync(fd, bytes, filled, length, filled)
        : (await readAt(fd, bytes, filled, length, filled)).bytesRead
    if (count === 0) break
    filled += count
  }
  return bytes.toString('utf8', 0, filled)
}

/** Calls back for every line. Each line is an independent string that retains no buffer. */
async function readLines(fd: number, onLine: (line: string) => void): Promise<void> {
  let buffer = Buffer.alloc(PIECE)
  let filled = 0
  for (let position = 0; ; ) {
    if (filled === buffer.length) buffer = Buffer.concat([buffer], buffer.length * 2)
    const { bytesRead } = await readAt(fd, buffer, filled, buffer.length - filled, position)
    if (bytesRead === 0) break
    position += bytesRead
    filled = takeLines(buffer, filled + bytesRead, onLine)
  }
  if (filled > 0) onLine(buffer.toString('utf8', 0, filled))
}

/** Passes on the complete lines and moves the rest to the front; returns its length. */
function takeLines(buffer: Buffer, length: number, onLine: (line: string) => void): number {
  let start = 0
  for (;;) {
    const end = buffer.indexOf(10, start)
    if (end < 0 || end >= length) break
    onLine(buffer.toString('utf8', start, end))
    start = end + 1
  }
  buffer.copy(buffer, 0, start, length)
  return length - start
}
