import type { Random } from '../../lib/random.ts'
import { validate, validateSuccessor } from '../../resources/decode.ts'
import type { Problem } from '../../resources/problem.ts'
import { type Raw, Reader } from '../../resources/reader.ts'

/** What a kind declares about the content of its objects. */
export interface ObjectRules {
  /** Reports to the reader why an object, in stored form with its defaults, is invalid. */
  readonly validate: (object: Reader) => unknown
  /** Reports to the reader which immutable fields of `old` a valid object changes. `none`: there are no such fields. */
  readonly validateUpdate: ((next: Reader, old: Reader) => void) | 'none'
  /**
   * The object with values for absent and empty fields. A field of the wrong type stays as it is, and
   * validation rejects it. `none`: there are no defaults.
   */
  readonly defaults: ((raw: Raw) => Raw) | 'none'
}

/**
 * Why an object may not be written; empty when it may. Stricter than decoding: values that a node would skip
 * with a warning are refused, as are contradictory ones. `old`: the stored object that it replaces; what is wrong with
 * it may stay.
 */
export function validateObject(rules: ObjectRules, raw: Raw, old?: Raw): readonly Problem[] {
  return old === undefined
    ? validate(raw, rules.validate)
    : validateSuccessor(raw, old, rules.validate)
}

/** Why a stored object may not be changed into `next`; both are valid by themselves. */
export function validateUpdate(rules: ObjectRules, next: Raw, old: Raw): readonly Problem[] {
  const check = rules.validateUpdate
  if (check === 'none') return []
  return validate(next, (object) => check(object, Reader.of(old, 'validate')))
}

/** The object with its defaults, in the form in which it is stored. */
export function applyDefaults({ defaults }: ObjectRules, raw: Raw): Raw {
  return defaults === 'none' ? raw : defaults(raw)
}

const SUFFIX_LENGTH = 5
/** Characters without vowels, so that no words appear. */
const SUFFIX_CHARACTERS = 'bcdfghjklmnpqrstvwxz2456789'

/** The random suffix of a generated name, in the form of Kubernetes: `x7k2m`. */
export function nameSuffix(random: Pick<Random, 'below'>): string {
  let suffix = ''
  for (let index = 0; index < SUFFIX_LENGTH; index++) {
    suffix += SUFFIX_CHARACTERS[random.below(SUFFIX_CHARACTERS.length)]
  }
  return suffix
}
