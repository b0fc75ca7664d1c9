import { examineStored } from '../../apiserver/verbs/persist.ts'
import { quote } from '../../lib/quote.ts'
import { decryptEntry, isConfidential } from '../../storage/encryption/encrypted-store.ts'
import { isEncrypted, keyNameOf } from '../../storage/encryption/encrypted-value.ts'
import type { StoredEntry } from '../../storage/store.ts'
import type { KeyFile } from './key-file.ts'
import { CONFIDENTIAL_PREFIXES } from './open-encryption.ts'

/** What was found about the encryption of values. */
export interface EncryptionRemark {
  readonly text: string
  /** The number of values. */
  readonly count: number
  /** Whether the content of the values was examined. */
  readonly isVerified: boolean
}

export interface EncryptedExamination {
  /**
   * Why the server cannot use a stored value; undefined: it can, or the value was not verified because its key
   * is missing.
   */
  readonly examine: (entry: StoredEntry) => string | undefined
  /** To be called after all values: one remark for each key that encrypts values, and one for values in clear. */
  readonly remarks: () => readonly EncryptionRemark[]
}

export interface ExaminationKeys {
  /** The path of the key file. */
  readonly path: string
  /** Undefined: the file does not exist. */
  readonly file: KeyFile | undefined
  /** Whether a value counts as damaged when the file exists but does not have its key. */
  readonly needsEachKey: boolean
}

/** Examines stored values; if their key is known, in decrypted form. */
export function examineEncrypted(at: ExaminationKeys): EncryptedExamination {
  const { file } = at
  const find = (name: string) => file?.keys.find((key) => key.name === name)
  const encryption = { keys: { find }, prefixes: CONFIDENTIAL_PREFIXES }
  const isRequired = file !== undefined && at.needsEachKey
  const counts = new Map<string, number>()
  let inClear = 0
  return {
    examine: (entry) => {
      if (!isConfidential(encryption, entry.key)) return examineStored(entry)
      if (!isEncrypted(entry.value)) inClear++
      const name = keyNameOf(entry.value)
      if (name !== undefined) {
        counts.set(name, (counts.get(name) ?? 0) + 1)
        if (find(name) === undefined && !isRequired) return undefined
      }
      return examineStored(decryptEntry(encryption, entry))
    },
    remarks: () => {
      const encrypted = [...counts].map(([name, count]) =>
        remark(at, { name, count, isVerified: find(name) !== undefined }),
      )
      const text = `${valuesAre(inClear)} in clear: an older version wrote them`
      return inClear === 0 ? encrypted : [...encrypted, { text, count: inClear, isVerified: true }]
    },
  }
}

interface Counted {
  readonly name: string
  readonly count: number
  readonly isVerified: boolean
}

function remark({ path, file }: ExaminationKeys, { name, count, isVerified }: Counted) {
  const text = `${valuesAre(count)} encrypted with the key ${quote(name)}`
  if (isVerified) return { text, count, isVerified }
  const why = file === undefined ? `${path} does not exist` : `${path} does not have it`
  const warning = `${text}, without which they are lost, and were not verified: ${why}`
  return { text: warning, count, isVerified }
}

function valuesAre(count: number): string {
  return count === 1 ? '1 value is' : `${count} values are`
}
