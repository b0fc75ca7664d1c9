import type { TokenReviews } from '../../auth/authentication/token-reviewer.ts'
import type { Authorizer } from '../../auth/rbac/authorizer.ts'
import type { User } from '../../auth/user.ts'
import type { JsonObject } from '../../lib/json.ts'
import type { StatusError } from '../status/status.ts'

/** What a review is answered from. */
export interface ReviewContext {
  /** As whom the request acts. */
  readonly user: User
  readonly authorizer: Authorizer
  readonly tokens: TokenReviews
}

/**
 * Answers a question about users or permissions, which is sent as an object and stored nowhere.
 * @returns the `status` of the answer, or why there is none
 */
export type Review = (
  context: ReviewContext,
  question: JsonObject,
) => JsonObject | StatusError | Promise<JsonObject | StatusError>
