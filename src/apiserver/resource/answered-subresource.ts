import type { TokenIssuance } from '../../auth/tokens/token-issuance.ts'
import type { JsonObject } from '../../lib/json.ts'
import type { Reader } from '../../resources/reader.ts'
import type { StatusError } from '../status/status.ts'
import type { ObjectReader } from './resource.ts'

/** What the server answers such a request from. */
export interface AnswerContext {
  /** As the newest revision has them. */
  readonly objects: ObjectReader
  /** Undefined: the server issues no tokens. */
  readonly issuance: TokenIssuance | undefined
}

/** A subresource that takes POST of a document of its own, which is answered and stored nowhere. */
export interface AnsweredSubresource {
  readonly name: string
  readonly type: { readonly group: string; readonly version: string; readonly kind: string }
  /** Reports to the reader why a document is invalid. */
  readonly validate: (document: Reader) => void
  /** `spec` and `status` of the answer, or why there is none. */
  readonly answer: (
    context: AnswerContext,
    object: JsonObject,
    document: JsonObject,
  ) => Promise<JsonObject | StatusError>
}
