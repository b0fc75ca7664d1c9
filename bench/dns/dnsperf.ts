import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { open, readFile } from 'node:fs/promises'
import { CLIENT_CPU } from './pinned.ts'

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

/**
 * Runs Debian's dnsperf on the client's processor. Its output goes to a file, because a process that reads it meanwhile
 * would take processor time from the server.
 */
export async function dnsperf({ port, questions, seconds, rate }: Load): Promise<LoadReport> {
  const load = ['-d', questions, '-l', String(seconds), '-q', OUTSTANDING, '-c', CLIENTS]
  const pace = rate === undefined ? [] : ['-Q', String(Math.round(rate)), '-v']
  const place = ['-s', '127.0.0.1', '-p', String(port)]
  const command = ['-c', CLIENT_CPU, 'dnsperf', ...place, ...load, ...pace]
  const path = `${questions}.answers`
  await using file = await open(path, 'w')
  const child = spawn('taskset', command, { stdio: ['ignore', file.fd, 'inherit'] })
  const [code] = (await once(child, 'exit')) as [number | null]
  if (code !== 0) throw new Error(`dnsperf ended with ${code}`)
  const printed = await readFile(path, 'utf8')
  return {
    perSecond: figure(printed, /Queries per second:\s+([\d.]+)/),
    lost: figure(printed, /Queries lost:\s+(\d+)/),
    latencies: [...printed.matchAll(/^> \S+ \S+ \S+ ([\d.]+)$/gm)].map(
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
