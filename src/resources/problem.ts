/** Something wrong with an object, in words that a person can act on. */
export interface Problem {
  /** `spec.ports[1].nodePort` */
  readonly field: string
  /** The value as JSON, at most 80 characters. */
  readonly value: string
  /** What is wrong and what would be right. */
  readonly message: string
}

/**
 * An object as the node uses it, or why it cannot be used. `warnings` are parts
 * that were left out; the rest of the object works without them.
 */
export type Decoded<T> =
  | { readonly ok: true; readonly value: T; readonly warnings: readonly Problem[] }
  | { readonly ok: false; readonly problems: readonly Problem[] }

const LONGEST_VALUE = 80

/** Collects problems while an object is read. */
export class Findings {
  readonly all: Problem[] = []

  add(field: string, value: unknown, message: string): void {
    this.all.push({ field, value: quote(value), message })
  }
}

function quote(value: unknown): string {
  if (value === undefined) return '(absent)'
  const text = JSON.stringify(value) ?? String(value)
  return text.length <= LONGEST_VALUE ? text : `${text.slice(0, LONGEST_VALUE - 1)}…`
}
