import { closeSync } from 'node:fs'
import { NodeProxyError } from '../../lib/error.ts'
import type { Job } from './program-runner.ts'

const PROGRAM = /^[A-Za-z0-9][A-Za-z0-9._-]*$/
const WORD = /^[A-Za-z0-9_.,:/=+@%-]+$/

/** The environment of programs; it does not depend on the daemon's own PATH. */
export const ENVIRONMENT = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  LC_ALL: 'C',
}

/** What is reported about a job: it started, or it ended with a status. */
export interface JobReport {
  readonly id: number
  readonly pid: number
  readonly status: number | undefined
}

export interface HelperEvents {
  /** A program has started or ended. */
  onReport(report: JobReport): void
  /** No program can be started any more; called once, also after `end`. */
  onExit(reason: string): void
}

/** Open files of one job, as file descriptors: read and write them by position. */
export interface JobFiles {
  readonly input: number
  readonly output: number
  readonly errors: number
  /** Closes them, and leaves nothing behind. */
  close(): void
}

/** What starts the programs of a `Spawner`. */
export interface Helper {
  /** Makes empty files for a job. */
  openFiles(id: number): JobFiles
  /** Starts a job that `checkJob` has passed. Its input is complete. */
  start(id: number, job: Job, files: JobFiles): void
  /** Keeps the daemon alive while `busy`. */
  hold(busy: boolean): void
  /** Frees everything; running programs may finish. */
  end(): void
}

/** Rejects a job that is not made of safe words (NP_KERNEL_JOB). */
export function checkJob(job: Job): void {
  if (!PROGRAM.test(job.program)) throw malformed('program', job.program)
  for (const arg of job.args) if (!WORD.test(arg)) throw malformed('args', arg)
  if (!(job.timeoutMs > 0)) throw malformed('timeoutMs', String(job.timeoutMs))
}

/** Three files, the last of which `remove` follows. */
export function jobFiles(
  open: (which: 'in' | 'out' | 'err') => number,
  remove: () => void,
): JobFiles {
  const opened: number[] = []
  const close = (): void => {
    for (const fd of opened.splice(0)) closeSync(fd)
    remove()
  }
  try {
    for (const which of ['in', 'out', 'err'] as const) opened.push(open(which))
  } catch (error) {
    close()
    throw error
  }
  const [input = -1, output = -1, errors = -1] = opened
  return { input, output, errors, close }
}

function malformed(field: string, value: string): NodeProxyError {
  return new NodeProxyError(
    'NP_KERNEL_JOB',
    `${field}: ${JSON.stringify(value)} is not allowed on a command line`,
    { object: field, hint: 'pass data through standard input' },
  )
}
