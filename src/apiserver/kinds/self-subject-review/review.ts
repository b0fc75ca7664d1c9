import type { JsonObject } from '../../../lib/json.ts'
import type { ReviewContext } from '../../resource/review.ts'
import { userInfo } from '../shared/user-info.ts'

/** Who the user of the request is. */
export function reviewSelf({ user }: ReviewContext): JsonObject {
  return { userInfo: userInfo(user) }
}
