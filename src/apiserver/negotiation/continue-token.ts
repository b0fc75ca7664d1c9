import { isJsonObject, type Json, stringAt } from '../../lib/json.ts'
import type { StatusError } from '../status/status.ts'
import { badRequest } from '../status/status-errors.ts'

/** Where a paged list goes on: after which key, and at which revision. */
export interface ContinueToken {
  /** 0: the newest revision at the time of the request (an inconsistent continuation). */
  readonly revision: number
  /** The last key of the page before, without the storage prefix of the list. */
  readonly after: string
}

const VERSION = 'meta.k8s.io/v1'

export function encodeContinue(token: ContinueToken): string {
  const document = { v: VERSION, rv: token.revision, start: token.after }
  return Buffer.from(JSON.stringify(document)).toString('base64url')
}

export function decodeContinue(text: string): ContinueToken | StatusError {
  try {
    const document = JSON.parse(Buffer.from(text, 'base64url').toString()) as Json
    if (isJsonObject(document) && document['v'] === VERSION) {
      const revision = document['rv']
      const after = stringAt(document, 'start')
      if (Number.isSafeInteger(revision) && Number(revision) >= 0 && after !== '') {
        return { revision: Number(revision), after }
      }
    }
  } catch {
    // Whatever cannot be decoded is answered below.
  }
  return badRequest('continue key is not valid: it must be what an earlier list returned')
}
