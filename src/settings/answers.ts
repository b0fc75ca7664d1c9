import type { NodeProxyError } from '../lib/error.ts'
import { describeProblem, type Problem } from './problem.ts'

/** 0 done, or stopped by a signal; 1 failure while running; 2 wrong flags or configuration. */
export type ExitCode = 0 | 1 | 2

export interface Output {
  readonly isTTY?: boolean
  /** Streams of processes report here a closed reader or a full disk. */
  on?(event: 'error', listener: (error: Error) => void): unknown
  write(text: string): unknown
}

/** Where a program answers who started it. */
export interface Terminal {
  readonly stdout: Output
  readonly stderr: Output
}

/** What a program prints before it has a log. */
export interface Answers {
  print(text: string): ExitCode
  /** Wrong flags or configuration. */
  refuse(problems: readonly Problem[]): ExitCode
  /** It could not do what was requested. */
  fail(error: NodeProxyError): ExitCode
}

/** A closed reader (`--help | head`) changes nothing: the exit code reports what was done. */
export function createAnswers(program: string, { stdout, stderr }: Terminal): Answers {
  for (const output of [stdout, stderr]) output.on?.('error', () => undefined)
  const complain = (problems: readonly Problem[], code: ExitCode): ExitCode => {
    for (const problem of problems) {
      const text = describeProblem(problem).replaceAll(/\s*\n\s*/g, ' ')
      stderr.write(`${program}: ${text} (${problem.code})\n`)
    }
    return code
  }
  return {
    print(text) {
      stdout.write(text)
      return 0
    },
    refuse: (problems) => complain(problems, 2),
    fail: (error) => complain([asProblem(error)], 1),
  }
}

export function asProblem(error: NodeProxyError): Problem {
  const message = error.hint === undefined ? error.message : `${error.message}; ${error.hint}`
  return { code: error.code, at: undefined, field: '', value: undefined, message }
}
