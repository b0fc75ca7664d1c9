import type { FieldsOf, PathsUnder } from '../../../settings/field.ts'
import { text } from '../../../settings/scalar-types.ts'
import type { OrchServerConfiguration } from '../configuration.ts'

/** How Secrets are encrypted in the store. */
export const ENCRYPTION_FIELDS: FieldsOf<
  OrchServerConfiguration,
  PathsUnder<OrchServerConfiguration, 'encryption'>
> = {
  'encryption.keyFile': {
    flag: 'encryption-key-file',
    type: text(),
    fallback: '',
    doc: 'Keys that Secrets are encrypted with in the store, each as NAME:BASE64; the first one writes. A changed file is taken over while running. Servers that share an etcd need the same keys. Empty: pki/encryption.keys in the data directory, which is made.',
    reload: 'restart',
  },
}
