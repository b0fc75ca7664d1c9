/** A place in a file; line and column start at 1. */
export interface Position {
  readonly file: string
  readonly line: number
  readonly column: number
}

/** One thing that is wrong with the configuration or the command line. */
export interface Problem {
  readonly code: string
  /** A place in a file, or undefined when it came by a flag. */
  readonly at: Position | undefined
  /** `server.port` or `--server-port`; empty when it concerns the whole. */
  readonly field: string
  /** The value at that place, as JSON; undefined: there is none. */
  readonly value: string | undefined
  /** The problem and its remedy. */
  readonly message: string
}

/** `server.yaml:3:7: server.timeout: "30": write a duration …` */
export function describeProblem(problem: Problem): string {
  const { at, field, value, message } = problem
  const place = at === undefined ? '' : `${at.file}:${at.line}:${at.column}`
  return [place, field, value ?? '', message].filter((part) => part !== '').join(': ')
}

/** The error codes of a program for problems of its settings; `docs/errors.md` explains them. */
export interface ProblemCodes {
  /** A flag is unknown, wrong, ignored or deprecated. */
  readonly flag: string
  /** The file cannot be read. */
  readonly unreadable: string
  /** It is not YAML, has a field twice, or is too large. */
  readonly syntax: string
  /** It is of no kind that is accepted. */
  readonly kind: string
  /** A field does not exist. */
  readonly field: string
  /** A field cannot have this value. */
  readonly value: string
  /** Values contradict each other. */
  readonly conflict: string
  /** A warning: a field means nothing here. */
  readonly ignored: string
}
