import { NodeProxyError } from '../lib/error.ts'
import { describeFault, type FieldFault } from '../lib/yaml.ts'

/** 0 done, or stopped by a signal; 1 failure while running; 2 wrong flags or configuration. */
export type ExitCode = 0 | 1 | 2

/** A text stream, such as `process.stdout`. */
export interface Output {
  readonly isTTY?: boolean
  /** Reports write errors: a closed reader or a full disk. */
  on?(event: 'error', listener: (error: Error) => void): unknown
  write(text: string): unknown
}

/** The output streams of a program. */
export interface Terminal {
  readonly stdout: Output
  readonly stderr: Output
}

/** Output of a program before it has a log; each method returns the exit code of the program. */
export interface Answers {
  /** Prints a text to stdout; 0. */
  print(text: string): ExitCode
  /** Prints wrong flags or configuration to stderr, one line each; 2. */
  refuse(problems: readonly Problem[]): ExitCode
  /** Prints a `NodeProxyError` to stderr; 1. @throws any other error */
  fail(error: unknown): ExitCode
}

/** Creates the answers of a program. Write errors, as in `--help | head`, are ignored. */
export function createAnswers(program: string, { stdout, stderr }: Terminal): Answers {
  for (const output of [stdout, stderr]) output.on?.('error', () => undefined)
  const complain = (problems: readonly Problem[], code: ExitCode): ExitCode => {
    for (const problem of problems) {
      const text = describeFault(problem).replaceAll(/\s*\n\s*/g, ' ')
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

/** A `NodeProxyError` as a problem without a position or field. @throws any other error */
export function asProblem(error: unknown): Problem {
  if (!(error instanceof NodeProxyError)) throw error
  const message = error.hint === undefined ? error.message : `${error.message}; ${error.hint}`
  return { code: error.code, at: undefined, field: '', value: undefined, message }
}

/** One thing that is wrong with the configuration (`server.port`) or the command line (`--server-port`). */
export interface Problem extends FieldFault {
  readonly code: string
}
