import type { User } from '../../../auth/user.ts'
import type { JsonObject } from '../../../lib/json.ts'

/** A user as clients read it (`authentication.k8s.io/v1` UserInfo). */
export function userInfo({ name, uid, groups, extra }: User): JsonObject {
  return {
    username: name,
    ...(uid !== undefined && { uid }),
    ...(groups.length > 0 && { groups: [...groups] }),
    ...(extra !== undefined &&
      extra.size > 0 && {
        extra: Object.fromEntries([...extra].map(([key, values]) => [key, [...values]])),
      }),
  }
}
