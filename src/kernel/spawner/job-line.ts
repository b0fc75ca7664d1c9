import { NodeProxyError } from '../../lib/error.ts'
import type { Job } from './program-runner.ts'

const PROGRAM = /^[A-Za-z0-9][A-Za-z0-9._-]*$/
const WORD = /^[A-Za-z0-9_.,:/=+@%-]+$/

/** The line that requests one job of the helper: `id program args…`. */
export function encodeJobLine(id: number, job: Job): string {
  if (!PROGRAM.test(job.program)) throw malformed('program', job.program)
  for (const arg of job.args) if (!WORD.test(arg)) throw malformed('args', arg)
  if (!(job.timeoutMs > 0)) throw malformed('timeoutMs', String(job.timeoutMs))
  return `${[id, job.program, ...job.args].join(' ')}\n`
}

/** What the helper reports about a job: it started, or it ended with a status. */
export interface JobReport {
  readonly id: number
  readonly pid: number
  readonly status: number | undefined
}

/** Parses `id pid` (started) or `id pid status` (ended). */
export function decodeReport(line: string): JobReport | undefined {
  const match = /^(\d+) (\d+)(?: (\d+))?$/.exec(line)
  if (match === null) return undefined
  const status = match[3] === undefined ? undefined : Number(match[3])
  return { id: Number(match[1]), pid: Number(match[2]), status }
}

function malformed(field: string, value: string): NodeProxyError {
  return new NodeProxyError(
    'NP_KERNEL_JOB',
    `${field}: ${JSON.stringify(value)} may not stand on a command line`,
    { object: field, hint: 'pass data through standard input' },
  )
}
