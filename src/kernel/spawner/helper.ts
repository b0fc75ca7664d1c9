import { type ChildProcess, spawn } from 'node:child_process'
import { HELPER_SCRIPT } from './helper-script.ts'
import { decodeReport, type JobReport } from './job-line.ts'

/** Where programs are looked up; the daemon's own PATH plays no part. */
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
  /** Keeps the daemon alive while jobs run, and only then. */
  hold(busy: boolean): void
  /** Closes its input: the helper ends after the running jobs. */
  end(): void
}

/**
 * Starts the helper in a session of its own, so that a terminal's Ctrl-C stops
 * the daemon and not a transaction that is half written.
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
