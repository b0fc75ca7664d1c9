import { validate, validateSuccessor } from '../../resources/decode.ts'
import type { Problem } from '../../resources/problem.ts'
import type { Raw } from '../../resources/raw.ts'
import { Reader } from '../../resources/reader.ts'

/** What a kind declares about the content of its objects. */
export interface ObjectRules {
  /** Adds to the reader's findings why an object, in stored form with its defaults, is invalid. */
  readonly validate: (object: Reader) => unknown
  /** The same for a valid object as the successor of `old`: fields that are fixed at creation. */
  readonly validateUpdate: ((next: Reader, old: Reader) => void) | 'no field is immutable'
  /**
   * The object with the fields that are filled in when they are absent or empty. A field of the
   * wrong type stays as it is, for validation to refuse.
   */
  readonly defaults: ((raw: Raw) => Raw) | 'none'
}

/**
 * Why an object may not be written; empty when it may. Stricter than decoding: whatever a node
 * would leave out with a warning is refused, and so is what contradicts itself.
 * `old`: the stored object that it replaces; addresses with leading zeros may stay.
 */
export function validateObject(rules: ObjectRules, raw: Raw, old?: Raw): readonly Problem[] {
  return old === undefined
    ? validate(raw, rules.validate)
    : validateSuccessor(raw, old, rules.validate)
}

/** Why a stored object may not become another one; each of them is valid. */
export function validateUpdate(rules: ObjectRules, next: Raw, old: Raw): readonly Problem[] {
  const check = rules.validateUpdate
  if (check === 'no field is immutable') return []
  return validate(next, (object) => check(object, Reader.of(old, 'validate')))
}

/** The object with its defaults, in the form in which it is stored. */
export function applyDefaults({ defaults }: ObjectRules, raw: Raw): Raw {
  return defaults === 'none' ? raw : defaults(raw)
}
