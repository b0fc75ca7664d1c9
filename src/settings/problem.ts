import type { FieldFault } from '../lib/yaml.ts'

/** One thing that is wrong with the configuration (`server.port`) or the command line (`--server-port`). */
export interface Problem extends FieldFault {
  readonly code: string
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
