/** Characters of a text that comes from another machine. */
const MAX_TEXT = 500
const MAX_TIME = 8.64e15

/** Reads untrusted JSON: what does not fit becomes what an absent value is. Never throws. */
export type Schema<T> = (value: unknown) => T

/** What a schema reads. */
export type Read<S> = S extends Schema<infer T> ? T : never

/** A text without control, formatting and unpaired characters, at most 500 characters long; absent: empty. */
export const text: Schema<string> = (value) =>
  typeof value === 'string' ? value.slice(0, MAX_TEXT).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '?') : ''

/** A finite number; absent: 0. */
export const number: Schema<number> = (value) =>
  typeof value === 'number' && Number.isFinite(value) ? value : 0

/** Milliseconds since the epoch, such that a Date has them (ECMA-262, time values); absent: 0. */
export const time: Schema<number> = (value) => {
  const ms = number(value)
  return Math.abs(ms) <= MAX_TIME ? ms : 0
}

/** Absent: false. */
export const flag: Schema<boolean> = (value) => value === true

/** One of some words; absent: the first. */
export function word<const W extends string>(...words: readonly [W, ...W[]]): Schema<W> {
  return (value) => words.find((one) => one === value) ?? words[0]
}

/** At most `max` items; absent: none. */
export function list<T>(item: Schema<T>, max: number): Schema<readonly T[]> {
  return (value) => (Array.isArray(value) ? value.slice(0, max).map((one) => item(one)) : [])
}

/** Texts by keys, at most `max`; absent: none. */
export function texts(max: number): Schema<Readonly<Record<string, string>>> {
  return (value) =>
    Object.fromEntries(
      Object.entries(objectOf(value))
        .slice(0, max)
        .map(([key, one]) => [text(key), text(one)]),
    )
}

/** An object, or undefined where there is none. */
export function optional<T>(inner: Schema<T>): Schema<T | undefined> {
  return (value) => (typeof value === 'object' && value !== null ? inner(value) : undefined)
}

type Fields = Readonly<Record<string, Schema<unknown>>>

/** An object with these fields and no others; absent: each as if it were absent. */
export function object<F extends Fields>(
  fields: F,
): Schema<{ readonly [K in keyof F]: Read<F[K]> }> {
  const entries = Object.entries(fields)
  return (value) => {
    const found = objectOf(value)
    const read = entries.map(([key, schema]) => [
      key,
      schema(Object.hasOwn(found, key) ? found[key] : undefined),
    ])
    return Object.fromEntries(read) as { readonly [K in keyof F]: Read<F[K]> }
  }
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isObject ? (value as Readonly<Record<string, unknown>>) : {}
}
