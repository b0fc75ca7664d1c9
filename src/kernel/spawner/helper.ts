import { type ChildProcess, spawn } from 'node:child_process'
import { NodeProxyError } from '../../lib/error.ts'
import type { Job } from './program-runner.ts'

const PROGRAM = /^[A-Za-z0-9][A-Za-z0-9._-]*$/
const WORD = /^[A-Za-z0-9_.,:/=+@%-]+$/

/** What the helper reports about a job: it started, or it ended with a status. */
export interface JobReport {
  readonly id: number
  readonly pid: number
  readonly status: number | undefined
}

/**
 * The program of the helper process, for a POSIX shell; `$1` is the private directory. Each line on standard input is
 * a job that consists of safe words (no globbing, no evaluation: `read` splits them and they are used unchanged). The
 * helper answers `id pid` when the program runs and `id pid status` when it has ended. The files for output and errors
 * exist by then, even if the program was stopped before it opened them. At the end of input, also after the daemon was
 * killed, running programs finish and the directory is deleted.
 */
const HELPER_SCRIPT = `
set -f
cd "$1" || exit 1
job() {
  id=$1
  shift
  : >"$id.out" 2>"$id.err"
  "$@" <"$id.in" >"$id.out" 2>"$id.err" &
  pid=$!
  echo "$id $pid"
  wait "$pid"
  echo "$id $pid $?"
}
while read -r line; do
  job $line &
done
wait
cd / && rm -rf -- "$1"
`

/** The environment of programs; it does not depend on the daemon's own PATH. */
const ENVIRONMENT = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  LC_ALL: 'C',
}

/** What the helper process reports. */
export interface HelperEvents {
  /** A program has started or ended. */
  onReport(report: JobReport): void
  /** The helper process has ended; called once, also after `end`. */
  onExit(reason: string): void
}

/** The helper process, which runs programs for the daemon. */
export interface Helper {
  /** Sends one job, as `encodeJobLine` writes it. */
  send(line: string): void
  /** Keeps the daemon alive while `busy`. */
  hold(busy: boolean): void
  /** Closes its input: the helper ends after the running jobs. */
  end(): void
}

/**
 * Starts the helper in its own session, so that a terminal's Ctrl-C stops the daemon but not a half-written
 * transaction.
 */
export function startHelper(directory: string, events: HelperEvents): Helper {
  const child = spawn('/bin/sh', ['-c', HELPER_SCRIPT, 'node-proxy-helper', directory], {
    stdio: ['pipe', 'pipe', 'ignore'],
    env: ENVIRONMENT,
    cwd: '/',
    detached: true,
  })
  child.stdin.on('error', () => undefined)
  readReports(child, events)
  child.once('error', (error) => events.onExit(error.message))
  child.once('exit', (code, signal) => events.onExit(`helper ended with ${signal ?? code}`))
  const hold = (busy: boolean) => {
    for (const handle of [child, child.stdout] as unknown as { ref(): void; unref(): void }[]) {
      if (busy) handle.ref()
      else handle.unref()
    }
  }
  hold(false)
  return { send: (line) => child.stdin.write(line), hold, end: () => child.stdin.end() }
}

function readReports(child: ChildProcess, events: HelperEvents): void {
  let rest = ''
  child.stdout?.on('data', (chunk: Buffer) => {
    const lines = (rest + chunk.toString('latin1')).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const report = decodeReport(line)
      if (report !== undefined) events.onReport(report)
    }
  })
}

/** The line that requests one job of the helper: `id program args…`. */
export function encodeJobLine(id: number, job: Job): string {
  if (!PROGRAM.test(job.program)) throw malformed('program', job.program)
  for (const arg of job.args) if (!WORD.test(arg)) throw malformed('args', arg)
  if (!(job.timeoutMs > 0)) throw malformed('timeoutMs', String(job.timeoutMs))
  return `${[id, job.program, ...job.args].join(' ')}\n`
}

/** Parses `id pid` (started) or `id pid status` (ended). */
function decodeReport(line: string): JobReport | undefined {
  const match = /^(\d+) (\d+)(?: (\d+))?$/.exec(line)
  if (match === null) return undefined
  const status = match[3] === undefined ? undefined : Number(match[3])
  return { id: Number(match[1]), pid: Number(match[2]), status }
}

function malformed(field: string, value: string): NodeProxyError {
  return new NodeProxyError(
    'NP_KERNEL_JOB',
    `${field}: ${JSON.stringify(value)} is not allowed on a command line`,
    { object: field, hint: 'pass data through standard input' },
  )
}
