import type { Daemon } from './daemon.ts'

export interface LogLine {
  readonly level: string
  readonly msg: string
  readonly [field: string]: unknown
}

/** What the daemon logged so far, line by line. */
export function logged(daemon: Pick<Daemon, 'logs'>): readonly LogLine[] {
  return readLog(daemon.logs())
}

export function readLog(text: string): readonly LogLine[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as LogLine)
}
