import type { Raw } from '../../../../resources/reader.ts'
import { writeQuantity } from '../checks.ts'
import { changeEach, changePresent, fill } from '../edit.ts'

/** 0644, as a decimal number. */
const MODE = { defaultMode: 420 }
const FILES = ['configMap', 'secret', 'downwardAPI', 'projected']
const TOKEN = { expirationSeconds: 3600 }

/** The defaults of a volume: the mode of its files and the type of a host path; quantities get their canonical form. */
export function defaultVolume(given: Raw): Raw {
  const moded = FILES.reduce(
    (volume, key) => changePresent(volume, key, (files) => fill(files, MODE)),
    given,
  )
  const filled = changePresent(withFields(moded), 'projected', (projected) =>
    changeEach(projected, 'sources', defaultSource),
  )
  const sized = changePresent(filled, 'emptyDir', (files) => writeQuantity(files, 'sizeLimit'))
  return changePresent(sized, 'hostPath', (path) => fill(path, { type: '' }))
}

function defaultSource(source: Raw): Raw {
  return changePresent(withFields(source), 'serviceAccountToken', (token) => fill(token, TOKEN))
}

/** The defaults of files with fields of the Pod. */
function withFields(source: Raw): Raw {
  return changePresent(source, 'downwardAPI', (files) =>
    changeEach(files, 'items', defaultFieldRef),
  )
}

/** A reference to a field of the Pod; the default API version is v1. */
export function defaultFieldRef(source: Raw): Raw {
  return changePresent(source, 'fieldRef', (field) => fill(field, { apiVersion: 'v1' }))
}
