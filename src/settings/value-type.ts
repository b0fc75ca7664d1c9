/** A value of one field in YAML and JSON; a map is never a value. */
export type Raw = string | number | boolean | null | readonly Raw[]

export type Decoded<T> =
  | { readonly ok: true; readonly value: T }
  /** What to write instead, as the end of a sentence: `write a duration such as 30s`. */
  | { readonly ok: false; readonly remedy: string }

/** How one type of value is read from a file or a flag, written back, and named in documents. */
export interface ValueType<T> {
  readonly name: string
  /** A flag of this type may be given several times; the values add up. */
  readonly isList?: true
  decode(raw: Raw): Decoded<T>
  fromFlag(text: string): Decoded<T>
  /** Text or JSON that `decode` reads back as the same value. */
  encode(value: T): Raw
}

export function accept<T>(value: T): Decoded<T> {
  return { ok: true, value }
}

export function refuse(remedy: string): Decoded<never> {
  return { ok: false, remedy }
}
