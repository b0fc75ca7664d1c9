import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { CLIENT_CPU } from './pinned.ts'

const run = promisify(execFile)
const MAX_OUTPUT = 512 * 1_024 * 1_024
const OUTSTANDING = '200'
const CLIENTS = '4'

export interface Load {
  readonly port: number
  /** A file with a question in each line. */
  readonly questions: string
  readonly seconds: number
  /** Questions per second; absent: as fast as they are answered. */
  readonly rate?: number
}

export interface LoadReport {
  readonly perSecond: number
  /** Questions without an answer. */
  readonly lost: number
  /** Milliseconds of each question; empty unless a rate was given. */
  readonly latencies: readonly number[]
}

/** Runs Debian's dnsperf on the client's processor. */
export async function dnsperf({ port, questions, seconds, rate }: Load): Promise<LoadReport> {
  const load = ['-d', questions, '-l', String(seconds), '-q', OUTSTANDING, '-c', CLIENTS]
  const pace = rate === undefined ? [] : ['-Q', String(Math.round(rate)), '-v']
  const place = ['-s', '127.0.0.1', '-p', String(port)]
  const command = ['-c', CLIENT_CPU, 'dnsperf', ...place, ...load, ...pace]
  const { stdout } = await run('taskset', command, { maxBuffer: MAX_OUTPUT })
  return {
    perSecond: figure(stdout, /Queries per second:\s+([\d.]+)/),
    lost: figure(stdout, /Queries lost:\s+(\d+)/),
    latencies: [...stdout.matchAll(/^> \S+ \S+ \S+ ([\d.]+)$/gm)].map(
      ([, seconds]) => Number(seconds) * 1_000,
    ),
  }
}

function figure(text: string, pattern: RegExp): number {
  const found = pattern.exec(text)?.[1]
  if (found === undefined)
    throw new Error(`dnsperf printed no ${pattern.source}:\n${text.slice(-500)}`)
  return Number(found)
}
