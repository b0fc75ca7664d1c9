import type { JsonObject } from '../../lib/json.ts'

/** A place in a file; line and column count from 1. */
export interface Position {
  readonly file: string
  readonly line: number
  readonly column: number
}

/** One object of a manifest, and where its fields stand. */
export interface Manifest {
  readonly object: JsonObject
  /** The place of a field (`spec.ports[0].port`), or of the nearest field around it; empty: of the object. */
  position(field: string): Position
}

/** `web.yaml:3:5`. */
export function positionText({ file, line, column }: Position): string {
  return `${file}:${line}:${column}`
}
