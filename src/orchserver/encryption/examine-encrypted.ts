import { examineStored } from '../../apiserver/persist/examine-stored.ts'
import { quote } from '../../lib/quote.ts'
import { decryptEntry, isConfidential } from '../../storage/encryption/encrypted-store.ts'
import { isEncrypted, keyNameOf } from '../../storage/encryption/encrypted-value.ts'
import type { StoredEntry } from '../../storage/store.ts'
import { CONFIDENTIAL_PREFIXES } from './confidential-prefixes.ts'
import type { KeyFile } from './key-file.ts'

export interface EncryptedExamination {
  /** Why the server cannot use a value, as it is stored; undefined: it can, or nothing but its key is known. */
  readonly examine: (entry: StoredEntry) => string | undefined
  /** After all values: by which keys they are encrypted, and which of them could not be verified. */
  remarks(): readonly string[]
}

export interface ExaminationKeys {
  /** Where keys were looked for. */
  readonly path: string
  /** Undefined: there is no such file. */
  readonly file: KeyFile | undefined
  /** Whether a value counts as damaged when the file, if there is one, does not have its key. */
  readonly needsEachKey: boolean
}

/** Examines values as they are stored; those whose key is at hand as what they decrypt to. */
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
    remarks: () => [
      ...[...counts].map(([name, count]) => remark(at, find(name) !== undefined, name, count)),
      ...(inClear === 0 ? [] : [`${valuesAre(inClear)} in clear: an older version wrote them`]),
    ],
  }
}

function remark({ path, file }: ExaminationKeys, isKnown: boolean, name: string, count: number) {
  const values = `${valuesAre(count)} encrypted with the key ${quote(name)}`
  if (isKnown) return values
  const why = file === undefined ? `${path} does not exist` : `${path} does not have it`
  return `${values}, without which they are lost, and were not verified: ${why}`
}

function valuesAre(count: number): string {
  return count === 1 ? '1 value is' : `${count} values are`
}
