import type { Exit } from '../spawner/program-runner.ts'
import type { RestoreFailureKind } from './iptables.ts'

const LINE = /(?:^|\s)(?:Error occurred at line: |COMMIT expected at line |line )(\d+)\b/m
const NOISE = /^(Ignoring deprecated|Try `|# Warning|\s*$)/
const LOCKED = /xtables lock/
const MISSING = /can't initialize|unable to initialize|do you need to insmod|Table does not exist/
const LIMIT = 300

/** The 1-based line of the input that iptables-restore reports as wrong; undefined: it reports none. */
export function failingLine(stderr: string): number | undefined {
  const match = LINE.exec(stderr)
  return match === null ? undefined : Number(match[1])
}

/** The kind of failure of an iptables program that exited with a status other than 0. */
export function failureKind(exit: Exit): RestoreFailureKind {
  if (exit.timedOut) return 'timeout'
  if (exit.status === 127) return 'missing'
  if (LOCKED.test(exit.stderr)) return 'locked'
  return MISSING.test(exit.stderr) ? 'missing' : 'refused'
}

/** The error output of a program as one line of printable ASCII, at most 300 characters; never empty. */
export function complaint(exit: Exit): string {
  const lines = exit.stderr.split('\n').filter((line) => !NOISE.test(line))
  const text = lines.map((line) => line.trim()).join('; ')
  const safe = text.replace(/[^\x20-\x7e]/g, '?').slice(0, LIMIT)
  return safe === '' ? `exit status ${exit.status}` : safe
}
