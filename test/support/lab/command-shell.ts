import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { shellWord } from '../../../src/uml/init-script.ts'

/**
 * The script of a POSIX shell. `$0` is the folder of its jobs, and each line of input has the number of a job. A job
 * that runs at once needs one new process; a job beside others needs three.
 */
const SCRIPT = `
now() {
  . "$0/$1.sh" <"$0/$1.in" >"$0/$1.out" 2>"$0/$1.err"
  echo "$1 0 $?"
}
job() {
  . "$0/$1.sh" <"$0/$1.in" >"$0/$1.out" 2>"$0/$1.err" &
  echo "$1 $!"
  wait $!
  echo "$1 $! $?"
}
while read -r id how; do
  if [ "$how" = now ]; then now "$id"; else job "$id" & fi
done
rm -rf -- "$0"
`

export interface Finished {
  /** Exit status; 128 plus the signal if one ended it. */
  readonly status: number
  readonly stdout: string
  readonly stderr: string
  readonly timedOut: boolean
}

export interface How {
  /** Its standard input. */
  readonly input: string
  readonly timeoutMs: number
  /** Whether the commands after it wait for its end; for short commands. */
  readonly atOnce: boolean
}

interface Job {
  pid: number
  timedOut: boolean
  readonly end: (status: number) => void
}

/**
 * Runs commands as children of a small shell. To start a process, the kernel copies the page tables of the parent. A
 * test process is large, so in User-mode Linux that alone takes a quarter of a second.
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

  async run(command: readonly string[], how: How): Promise<Finished> {
    const id = ++this.#serial
    const file = (suffix: string): string => join(this.#folder, `${id}.${suffix}`)
    const words = [...(how.atOnce ? [] : ['exec']), ...command.map(shellWord)]
    writeFileSync(file('sh'), `${words.join(' ')}\n`)
    writeFileSync(file('in'), how.input)
    const { status, timedOut } = await this.#execute(id, how)
    const [stdout, stderr] = ['out', 'err'].map((suffix) => readFileSync(file(suffix), 'utf8'))
    for (const suffix of ['sh', 'in', 'out', 'err']) rmSync(file(suffix))
    return { status, timedOut, stdout: stdout ?? '', stderr: stderr ?? '' }
  }

  #execute(id: number, how: How): Promise<{ status: number; timedOut: boolean }> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        job.timedOut = true
        if (job.pid > 0) process.kill(job.pid, 'SIGKILL')
        else this.#shell.kill('SIGKILL')
      }, how.timeoutMs)
      const end = (status: number): void => {
        clearTimeout(timer)
        this.#jobs.delete(id)
        this.#hold(this.#jobs.size > 0)
        resolve({ status, timedOut: job.timedOut })
      }
      const job: Job = { pid: 0, timedOut: false, end }
      this.#jobs.set(id, job)
      this.#hold(true)
      this.#shell.stdin?.write(`${id} ${how.atOnce ? 'now' : ''}\n`)
    })
  }

  #report(line: string): void {
    const [id, pid, status] = line.split(' ').map(Number)
    const job = this.#jobs.get(id ?? 0)
    if (job === undefined || pid === undefined) return
    job.pid = pid
    if (status !== undefined) job.end(status)
  }

  /** Keeps this process alive only while a command runs. */
  #hold(busy: boolean): void {
    for (const handle of [this.#shell, this.#shell.stdout as Socket | null]) {
      if (busy) handle?.ref()
      else handle?.unref()
    }
  }
}
