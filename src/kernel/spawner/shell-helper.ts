import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, openSync, rmSync } from 'node:fs'
import { ENVIRONMENT, type Helper, type HelperEvents, type JobReport, jobFiles } from './helper.ts'

/**
 * The program of the helper process, for a POSIX shell; `$1` is the private directory. Each line on standard input is
 * a job that consists of safe words (no globbing, no evaluation: `read` splits them and they are used unchanged). The
 * helper answers `id pid` when the program runs and `id pid status` when it has ended. At the end of input, also after
 * the daemon was killed, running programs finish and the directory is deleted.
 */
const HELPER_SCRIPT = `
set -f
cd "$1" || exit 1
job() {
  id=$1
  shift
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

/**
 * Starts programs through a small shell, which is started while this process is small: forking a large process blocks
 * its event loop in proportion to its memory. For a Node that cannot call posix_spawn(3).
 *
 * Input and output go through files in a private directory below `parent`, so the pipes carry only job lines, and no
 * program gets incomplete input if the daemon is killed. The helper has its own session, so that a terminal's Ctrl-C
 * stops the daemon but not a half-written transaction.
 */
export function startShellHelper(parent: string, events: HelperEvents): Helper {
  const directory = mkdtempSync(`${parent}/node-proxy-`)
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
  return {
    openFiles(id) {
      const path = (which: string) => `${directory}/${id}.${which}`
      return jobFiles(
        (which) => openSync(path(which), 'wx+', 0o600),
        () => {
          for (const which of ['in', 'out', 'err']) rmSync(path(which), { force: true })
        },
      )
    },
    start: (id, { program, args }) => child.stdin.write(`${[id, program, ...args].join(' ')}\n`),
    hold,
    end() {
      child.stdin.end()
      rmSync(directory, { recursive: true, force: true })
    },
  }
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

/** Parses `id pid` (started) or `id pid status` (ended). */
function decodeReport(line: string): JobReport | undefined {
  const match = /^(\d+) (\d+)(?: (\d+))?$/.exec(line)
  if (match === null) return undefined
  const status = match[3] === undefined ? undefined : Number(match[3])
  return { id: Number(match[1]), pid: Number(match[2]), status }
}
