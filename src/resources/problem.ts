import { quote } from '../lib/quote.ts'

/** A fault of an object, described so that a person can correct it. */
export interface Problem {
  /** `spec.ports[1].nodePort` */
  readonly field: string
  /** The value as JSON in printable characters, at most 80 of them; `(absent)` if absent. */
  readonly value: string
  /** What the value must be and, if the rest of the object is used, what happens instead. */
  readonly message: string
  /** The kind of fault, if Kubernetes distinguishes it from other wrong values. */
  readonly fault?: Fault
}

/**
 * A value that is not among the allowed ones (`supported`), one that occurs already (`other`: where), an address with
 * leading zeros, which only old objects may have (`legacyAddress`: the same without them), or one that a rule forbids.
 */
export type Fault =
  | { readonly legacyAddress: string }
  | { readonly supported: readonly string[] }
  | { readonly isDuplicate: true; readonly other: string }
  | { readonly forbidden: string }

/**
 * An object as the node uses it, or why it cannot be used. `warnings` are about parts that were left out or replaced;
 * the rest of the object is used.
 */
export type Decoded<T> =
  | { readonly ok: true; readonly value: T; readonly warnings: readonly Problem[] }
  | { readonly ok: false; readonly problems: readonly Problem[] }

/** Whether a node reads the object, and uses what it can, or a server, which may refuse it. */
export type Reading = 'decode' | 'validate'

/** The maximum number of problems before `MORE`, so that a hostile object cannot use up memory. */
const MOST = 50
const MORE: Problem = { field: '', value: '…', message: 'there is more; correct these first' }
const NONE: readonly Problem[] = Object.freeze([])
const NO_FAULTS: ReadonlySet<string> = new Set()

/** Collects problems while an object is read: each once, at most 50, and then one that says that there are more. */
export class Findings {
  readonly #reading: Reading
  readonly #accepted: ReadonlySet<string>
  #kept: Problem[] | undefined
  #faults: Set<string> | undefined

  /** `accepted`: the `faults` of a stored object, which are accepted without a finding. */
  constructor(reading: Reading, accepted: ReadonlySet<string> = NO_FAULTS) {
    this.#reading = reading
    this.#accepted = accepted
  }

  /** Everything that is wrong, also beyond what is kept: field without position in a list, value and message. */
  get faults(): ReadonlySet<string> {
    return this.#faults ?? NO_FAULTS
  }

  get all(): readonly Problem[] {
    return this.#kept ?? NONE
  }

  /** `instead`: what a node does about it; it is left out when a server refuses the object. */
  add(field: string, value: unknown, wrong: string | Fault, instead?: string): void {
    const fault = `${field.replace(/\[\d+\]/g, '[]')} ${quote(value)} ${messageOf(wrong)}`
    this.#faults ??= new Set()
    this.#faults.add(fault)
    if (this.#accepted.has(fault)) return
    this.#kept ??= []
    const kept = this.#kept
    if (kept.length > MOST) return
    const consequence = instead === undefined || this.#reading === 'validate' ? '' : `; ${instead}`
    const problem: Problem = {
      field,
      value: quote(value),
      message: messageOf(wrong) + consequence,
      ...(typeof wrong !== 'string' && { fault: wrong }),
    }
    if (kept.some((known) => isSame(known, problem))) return
    kept.push(kept.length === MOST ? MORE : problem)
  }
}

function messageOf(wrong: string | Fault): string {
  if (typeof wrong === 'string') return wrong
  if ('supported' in wrong) return `must be one of ${wrong.supported.join(', ')}`
  if ('legacyAddress' in wrong) return `must not have leading zeros: write ${wrong.legacyAddress}`
  return 'forbidden' in wrong ? wrong.forbidden : `must differ from ${wrong.other}`
}

function isSame(a: Problem, b: Problem): boolean {
  return a.field === b.field && a.value === b.value && a.message === b.message
}
