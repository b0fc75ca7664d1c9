import { type Fault, Findings, type Reading } from './problem.ts'

/** A JSON object from the wire, not yet validated. */
export type Raw = Readonly<Record<string, unknown>>

const NOTHING: Raw = Object.freeze({})
const NONE: readonly never[] = Object.freeze([])
const LEFT_OUT = 'it is left out'
const WITHHELD = '(withheld)'

/**
 * Reads one JSON object of unknown content. It sees only own properties and treats null as absent. A value of the
 * wrong type is recorded as a finding and treated as absent. The path of a value is only computed for a finding.
 */
export class Reader {
  readonly findings: Findings
  readonly #raw: Raw
  readonly #parent: Reader | undefined
  readonly #key: string
  readonly #index: number
  readonly #isMap: boolean

  private constructor(
    raw: Raw,
    place: {
      findings: Findings
      parent?: Reader
      key?: string
      index?: number
      isMap?: boolean
    },
  ) {
    this.#raw = raw
    this.findings = place.findings
    this.#parent = place.parent
    this.#key = place.key ?? ''
    this.#index = place.index ?? -1
    this.#isMap = place.isMap ?? false
  }

  /** Reads a whole object; a value that is not an object is read as empty, with a finding. */
  static of(raw: unknown, reading: Reading, accepted?: ReadonlySet<string>): Reader {
    const findings = new Findings(reading, accepted)
    if (isRaw(raw)) return new Reader(raw, { findings })
    findings.add('', raw, 'must be an object')
    return new Reader(NOTHING, { findings })
  }

  value(key: string): unknown {
    return ownField(this.#raw, key)
  }

  text(key: string): string | undefined {
    const value = this.value(key)
    if (value === undefined || typeof value === 'string') return value
    this.refuse(key, 'must be a string', LEFT_OUT)
    return undefined
  }

  flag(key: string): boolean | undefined {
    const value = this.value(key)
    if (value === undefined || typeof value === 'boolean') return value
    this.refuse(key, 'must be true or false', LEFT_OUT)
    return undefined
  }

  /** The object at `key`; an empty one if absent. */
  object(key: string): Reader {
    return new Reader(this.#rawAt(key), { findings: this.findings, parent: this, key })
  }

  /** The same for an object whose keys are names that the author chose: `data[password]`. */
  map(key: string): Reader {
    return new Reader(this.#rawAt(key), { findings: this.findings, parent: this, key, isMap: true })
  }

  list(key: string): readonly unknown[] {
    const value = this.value(key)
    if (Array.isArray(value)) return value
    if (value !== undefined) this.refuse(key, 'must be a list', LEFT_OUT)
    return NONE
  }

  /** The items of the list at `key` that are objects. */
  objects(key: string): readonly Reader[] {
    const items = this.list(key)
    const readers: Reader[] = []
    for (let index = 0; index < items.length; index++) {
      const item = items[index]
      if (!isRaw(item)) this.refuseItem(key, index, 'must be an object', LEFT_OUT)
      else readers.push(new Reader(item, { findings: this.findings, parent: this, key, index }))
    }
    return readers
  }

  keys(): readonly string[] {
    return Object.keys(this.#raw)
  }

  /** Records that the value at `key` is wrong: what it must be, and what a node does about it; see `Findings.add`. */
  refuse(key: string, wrong: string | Fault, instead?: string): void {
    this.findings.add(this.path(key), this.value(key), wrong, instead)
  }

  /** The same for one item of the list at `key`. */
  refuseItem(key: string, index: number, wrong: string | Fault, instead?: string): void {
    const value = this.list(key)[index]
    this.findings.add(`${this.path(key)}[${index}]`, value, wrong, instead)
  }

  /** The same as `refuse`, without showing the value, which may be secret. */
  withhold(key: string, wrong: string | Fault): void {
    this.findings.add(this.path(key), WITHHELD, wrong)
  }

  /** The path of the value at `key` from the whole object: `spec.ports[1].nodePort`, `data[password]`. */
  path(key: string): string {
    const here = this.#here()
    if (here === '') return key
    return this.#isMap || /[./]/.test(key) ? `${here}[${key}]` : `${here}.${key}`
  }

  #rawAt(key: string): Raw {
    const value = this.value(key)
    const raw = isRaw(value) ? value : NOTHING
    if (value !== undefined && raw === NOTHING) this.refuse(key, 'must be an object', LEFT_OUT)
    return raw
  }

  #here(): string {
    const path = this.#parent?.path(this.#key) ?? ''
    return this.#index < 0 ? path : `${path}[${this.#index}]`
  }
}

/** Whether a value is an object, and not an array or null. */
export function isRaw(value: unknown): value is Raw {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** An own property, never one of Object.prototype; null is absent. */
export function ownField(object: Raw, key: string): unknown {
  return Object.hasOwn(object, key) ? (object[key] ?? undefined) : undefined
}

/** Whether two values are the same JSON; null equals absent, and the order of fields does not count. */
export function isSameValue(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, index) => isSameValue(item, b[index]))
  }
  if (!isRaw(a) || !isRaw(b)) return (a ?? undefined) === (b ?? undefined)
  const keys = new Set([...Object.keys(a), ...Object.keys(b)])
  return [...keys].every((key) => isSameValue(ownField(a, key), ownField(b, key)))
}

/** The defined values, in a list without spare capacity; all empty lists are the same object. */
export function present<T>(values: Iterable<T | undefined>): readonly T[] {
  const found: T[] = []
  for (const value of values) if (value !== undefined) found.push(value)
  return found.length === 0 ? NONE : found.slice()
}
