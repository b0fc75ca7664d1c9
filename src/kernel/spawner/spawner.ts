import { mkdtempSync, readFileSync, rmSync, statSync, unlinkSync, writeFileSync } from 'node:fs'
import { open, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { NodeProxyError } from '../../lib/error.ts'
import { encodeJobLine, type Helper, type JobReport, startHelper } from './helper.ts'
import type { Exit, Job, ProgramResult, ProgramRunner } from './program-runner.ts'

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

/**
 * Runs programs through a small shell that was started while this process was small: forking a large process blocks
 * its event loop in proportion to its memory. Input and output go through files in a private directory, so the pipes
 * carry only job lines, and no program gets incomplete input if the daemon is killed.
 */
export class Spawner implements ProgramRunner {
  readonly #parent: string
  readonly #running = new Map<number, Running>()
  #directory: string | undefined
  #helper: Helper | undefined
  #lastId = 0
  #tail: Promise<unknown> = Promise.resolve()
  readonly #open = new Set<Promise<unknown>>()
  #closed = false

  /** `runtimeDirectory`: best on a memory file system such as /run. */
  constructor(options: { readonly runtimeDirectory?: string } = {}) {
    this.#parent = options.runtimeDirectory ?? tmpdir()
    this.#start()
  }

  /** The directory with the files of running jobs; it is a new one after the helper was lost. */
  get directory(): string | undefined {
    return this.#directory
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
    this.#removeDirectory()
  }

  #schedule<T>(job: Job, finish: (files: JobFiles, exit: Exit) => Promise<T>): Promise<T> {
    if (this.#closed) return Promise.reject(lost('the spawner is closed'))
    const id = ++this.#lastId
    let line: string
    try {
      line = encodeJobLine(id, job)
    } catch (error) {
      return Promise.reject(error)
    }
    const execute = () => this.#execute({ id, line, job }, finish)
    const result = job.concurrent === true ? execute() : this.#tail.then(execute)
    const settled = result.then(noop, noop)
    if (job.concurrent !== true) this.#tail = settled
    this.#open.add(settled)
    void settled.then(() => this.#open.delete(settled))
    return result
  }

  async #execute<T>(
    task: { readonly id: number; readonly line: string; readonly job: Job },
    finish: (files: JobFiles, exit: Exit) => Promise<T>,
  ): Promise<T> {
    if (this.#helper === undefined) this.#start()
    const files = jobFiles(this.#directory!, task.id)
    try {
      await writeInput(files.input, task.job.stdin ?? '')
      const { report, timedOut } = await this.#await(task)
      const exit = { status: report.status ?? 0, pid: report.pid, timedOut }
      return await finish(files, { ...exit, stderr: await readText(files.errors) })
    } finally {
      removeFiles(files)
    }
  }

  #await(task: { readonly id: number; readonly line: string; readonly job: Job }) {
    return new Promise<{ report: JobReport; timedOut: boolean }>((resolve, reject) => {
      if (this.#helper === undefined) return reject(lost('the helper ended'))
      const running: Running = {
        pid: 0,
        timedOut: false,
        timer: setTimeout(() => this.#terminate(running, 'SIGTERM'), task.job.timeoutMs),
        end: (report) => resolve({ report, timedOut: running.timedOut }),
        fail: reject,
      }
      this.#running.set(task.id, running)
      this.#helper.hold(true)
      this.#helper.send(task.line)
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

  #start(): void {
    this.#directory ??= mkdtempSync(`${this.#parent}/node-proxy-`)
    const helper: Helper = startHelper(this.#directory, {
      onReport: (report) => this.#report(report),
      onExit: (reason) => this.#lose(helper, reason),
    })
    this.#helper = helper
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
    this.#removeDirectory()
    for (const [id, running] of this.#running) {
      this.#settle(id, running)
      signalProcess(running.pid, 'SIGKILL')
      running.fail(lost(reason))
    }
  }

  #removeDirectory(): void {
    if (this.#directory !== undefined) rmSync(this.#directory, { recursive: true, force: true })
    this.#directory = undefined
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

/** Paths of the files of one job: standard input, output and error. */
interface JobFiles {
  readonly input: string
  readonly output: string
  readonly errors: string
}

/** The paths for the job with this number. */
function jobFiles(directory: string, id: number): JobFiles {
  const base = `${directory}/${id}`
  return { input: `${base}.in`, output: `${base}.out`, errors: `${base}.err` }
}

/** Writes the whole input before the program starts, so that it is complete even if the daemon is killed. */
async function writeInput(path: string, text: string | Iterable<string>): Promise<void> {
  if (typeof text === 'string' && text.length < PIECE) {
    return writeFileSync(path, text, { flag: 'wx', mode: 0o600 })
  }
  const file = await open(path, 'wx', 0o600)
  try {
    for (const piece of pieces(typeof text === 'string' ? [text] : text))
      await file.appendFile(piece)
  } finally {
    await file.close()
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
async function readText(path: string): Promise<string> {
  return statSync(path).size <= PIECE ? readFileSync(path, 'utf8') : readFile(path, 'utf8')
}

/** Calls back for every line. Each line is an independent string that retains no buffer. */
async function readLines(path: string, onLine: (line: string) => void): Promise<void> {
  const file = await open(path, 'r')
  try {
    let buffer = Buffer.alloc(PIECE)
    let filled = 0
    for (;;) {
      if (filled === buffer.length) buffer = Buffer.concat([buffer], buffer.length * 2)
      const { bytesRead } = await file.read(buffer, filled, buffer.length - filled)
      if (bytesRead === 0) break
      filled = takeLines(buffer, filled + bytesRead, onLine)
    }
    if (filled > 0) onLine(buffer.toString('utf8', 0, filled))
  } finally {
    await file.close()
  }
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

/** Deletes the files of a job; missing files are not an error. */
function removeFiles(files: JobFiles): void {
  for (const path of [files.input, files.output, files.errors]) {
    try {
      unlinkSync(path)
    } catch {
      // never created, or gone with the directory
    }
  }
}
