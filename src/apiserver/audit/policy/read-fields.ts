import { nearest } from '../../../lib/nearest.ts'
import type { Located } from './located-yaml.ts'
import type { Problems } from './problems.ts'

export type Fields = ReadonlyMap<string, Located>

const NO_FIELDS: Fields = new Map()

/** The fields of a map. One that is not known is a problem: its rule would not do what it says. */
export function readFields(at: Located, known: readonly string[], problems: Problems): Fields {
  if (!(at.value instanceof Map)) {
    problems.add(at, `write a map of ${known.join(', ')}`)
    return NO_FIELDS
  }
  const fields = at.value as Fields
  for (const [name, field] of fields) {
    if (known.includes(name)) continue
    const meant = nearest(name, known)
    problems.add(
      { ...field, value: null },
      `unknown field; ${meant === undefined ? 'remove it' : `did you mean ${meant}?`}`,
    )
  }
  return fields
}

/** The items of a list; absent or null: none. */
export function readItems(at: Located | undefined, problems: Problems): readonly Located[] {
  if (at === undefined || at.value === null) return []
  if (Array.isArray(at.value)) return at.value as readonly Located[]
  problems.add(at, 'write a list')
  return []
}

/** Why a text cannot stand there, or undefined. */
export type TextCheck = (text: string) => string | undefined

/** The texts of a list, each checked. */
export function readTexts(
  at: Located | undefined,
  problems: Problems,
  check: TextCheck,
): readonly string[] {
  return readItems(at, problems).flatMap((item) => {
    const { value } = item
    const fault = typeof value === 'string' ? check(value) : 'write text, in quotes'
    if (fault !== undefined) problems.add(item, fault)
    return fault === undefined ? [value as string] : []
  })
}

/** One of the texts that there are; undefined, with a problem unless it is absent, for another. */
export function readChoice<T extends string>(
  at: Located | undefined,
  choices: readonly T[],
  problems: Problems,
): T | undefined {
  if (at === undefined) return undefined
  const found = choices.find((choice) => choice === at.value)
  if (found === undefined) problems.add(at, `write ${choices.join(' or ')}`)
  return found
}

/** Absent or null: undefined. */
export function readFlag(at: Located | undefined, problems: Problems): boolean | undefined {
  if (at === undefined || at.value === null) return undefined
  if (typeof at.value === 'boolean') return at.value
  problems.add(at, 'write true or false')
  return undefined
}
