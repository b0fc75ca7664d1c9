import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { shellWord } from '../../../src/uml/shell-word.ts'

/** For a POSIX shell; `$0` is the folder of its jobs, and each line of input the number of one. */
const SCRIPT = `
job() {
  . "$0/$1.sh" <"$0/$1.in" >"$0/$1.out" 2>"$0/$1.err" &
  echo "$1 $!"
  wait $!
  echo "$1 $! $?"
}
while read -r id; do job "$id" & done
rm -rf -- "$0"
`

export interface Finished {
  /** Exit status; 128 and the signal if one ended it. */
  readonly status: number
  readonly stdout: string
  readonly stderr: string
  readonly timedOut: boolean
}

interface Job {
  pid: number
  timedOut: boolean
  readonly end: (status: number) => void
}

/**
 * Runs commands as children of a small shell. To start one, the kernel copies
 * the whole map of the parent's memory, and a test process is large; in
 * User-mode Linux that alone takes a quarter of a second.
 */
export class CommandShell {
  readonly #folder = mkdtempSync(join(tmpdir(), 'np-commands-'))
  readonly #jobs = new Map<number, Job>()
  readonly #shell: ChildProcess
  #serial = 0

  constructor() {
    this.#shell = spawn('sh', ['-c', SCRIPT, this.#folder], { stdio: ['pipe', 'pipe', 'inherit'] })
    const lines = createInterface({ input: this.#shell.stdout! })
    lines.on('line', (line) => this.#report(line))
    this.#shell.once('exit', () => {
      for (const job of this.#jobs.values()) job.end(128)
    })
    this.#hold(false)
    process.once('exit', () => rmSync(this.#folder, { recursive: true, force: true }))
  }

  async run(command: readonly string[], input: string, timeoutMs: number): Promise<Finished> {
    const id = ++this.#serial
    const file = (suffix: string): string => join(this.#folder, `${id}.${suffix}`)
    writeFileSync(file('sh'), `exec ${command.map(shellWord).join(' ')}\n`)
    writeFileSync(file('in'), input)
    const { status, timedOut } = await this.#execute(id, timeoutMs)
    const [stdout, stderr] = ['out', 'err'].map((suffix) => readFileSync(file(suffix), 'utf8'))
    for (const suffix of ['sh', 'in', 'out', 'err']) rmSync(file(suffix))
    return { status, timedOut, stdout: stdout ?? '', stderr: stderr ?? '' }
  }

  #execute(id: number, timeoutMs: number): Promise<{ status: number; timedOut: boolean }> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        job.timedOut = true
        if (job.pid > 0) process.kill(job.pid, 'SIGKILL')
      }, timeoutMs)
      const end = (status: number): void => {
        clearTimeout(timer)
        this.#jobs.delete(id)
        this.#hold(this.#jobs.size > 0)
        resolve({ status, timedOut: job.timedOut })
      }
      const job: Job = { pid: 0, timedOut: false, end }
      this.#jobs.set(id, job)
      this.#hold(true)
      this.#shell.stdin?.write(`${id}\n`)
    })
  }

  #report(line: string): void {
    const [id, pid, status] = line.split(' ').map(Number)
    const job = this.#jobs.get(id ?? 0)
    if (job === undefined || pid === undefined) return
    job.pid = pid
    if (status !== undefined) job.end(status)
  }

  /** Keeps this process alive while a command runs, and only then. */
  #hold(busy: boolean): void {
    for (const handle of [this.#shell, this.#shell.stdout as Socket | null]) {
      if (busy) handle?.ref()
      else handle?.unref()
    }
  }
}
