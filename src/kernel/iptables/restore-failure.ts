import type { Exit } from '../spawner/program-runner.ts'
import type { RestoreFailureKind } from './iptables.ts'

const LINE = /(?:^|\s)(?:Error occurred at line: |COMMIT expected at line |line )(\d+)\b/m
const NOISE = /^(Ignoring deprecated|Try `|# Warning|\s*$)/
const LOCKED = /xtables lock/
const MISSING = /can't initialize|unable to initialize|do you need to insmod|Table does not exist/
const LIMIT = 300

/** The line that iptables-restore complains about, in any of its wordings. */
export function failingLine(stderr: string): number | undefined {
  const match = LINE.exec(stderr)
  return match === null ? undefined : Number(match[1])
}

export function failureKind(exit: Exit): RestoreFailureKind {
  if (exit.timedOut) return 'timeout'
  if (exit.status === 127) return 'missing'
  if (LOCKED.test(exit.stderr)) return 'locked'
  return MISSING.test(exit.stderr) ? 'missing' : 'refused'
}

/** What a program said, as one bounded line that is safe in a log. */
export function complaint(exit: Exit): string {
  const lines = exit.stderr.split('\n').filter((line) => !NOISE.test(line))
  const text = lines.map((line) => line.trim()).join('; ')
  const safe = text.replace(/[^\x20-\x7e]/g, '?').slice(0, LIMIT)
  return safe === '' ? `exit status ${exit.status}` : safe
}
