import { catalogue } from '../../apiserver/kinds/catalogue.ts'
import { storagePrefix } from '../../apiserver/resource/resource.ts'

/** A value by which each server notices at its start that its keys are not those of the store. */
export const KEY_CHECK = '/encryption/check'

/** The storage keys whose values are encrypted: confidential resources, and the key check. */
export const CONFIDENTIAL_PREFIXES: readonly string[] = [
  ...catalogue
    .filter(({ isConfidential }) => isConfidential === true)
    .map((resource) => storagePrefix(resource)),
  KEY_CHECK,
]
