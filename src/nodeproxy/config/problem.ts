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
  /** `iptables.syncPeriod` or `--iptables-sync-period`; empty when it concerns the whole. */
  readonly field: string
  /** What stands there, as JSON; undefined when nothing does. */
  readonly value: string | undefined
  /** What is wrong and what to do. */
  readonly message: string
}

/** `proxy.yaml:3:7: iptables.syncPeriod: "30": write a duration …` */
export function describeProblem(problem: Problem): string {
  const { at, field, value, message } = problem
  const place = at === undefined ? '' : `${at.file}:${at.line}:${at.column}`
  return [place, field, value ?? '', message].filter((part) => part !== '').join(': ')
}

/** JSON of a value for messages, cut where it would drown them. */
export function quote(value: unknown): string {
  const json = JSON.stringify(value) ?? 'nothing'
  return json.length <= 120 ? json : `${json.slice(0, 117)}…`
}
