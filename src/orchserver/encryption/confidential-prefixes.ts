import { secrets } from '../../apiserver/kinds/secret.ts'
import { storagePrefix } from '../../apiserver/resource/resource.ts'

/** A value by which each server notices at its start that its keys are not those of the store. */
export const KEY_CHECK = '/encryption/check'

/** The storage keys whose values are encrypted begin so. */
export const CONFIDENTIAL_PREFIXES: readonly string[] = [storagePrefix(secrets), KEY_CHECK]
