import { arrayAt, type JsonObject, stringAt } from '../../lib/json.ts'
import type { GlobalFlags } from '../usage/global-flags.ts'

/** Another user as whom requests are made. */
export interface Impersonation {
  readonly user: string
  readonly groups: readonly string[]
  readonly uid: string
}

/** The impersonation of the flags, else that of the user entry of the kubeconfig. */
export function impersonationOf(
  { as, asGroup, asUid }: GlobalFlags,
  user: JsonObject | undefined,
): Impersonation | undefined {
  const groups = arrayAt(user, 'as-groups').filter((group) => typeof group === 'string')
  const impersonation = {
    user: as ?? stringAt(user, 'as'),
    groups: asGroup ?? groups,
    uid: asUid ?? stringAt(user, 'as-uid'),
  }
  const isNone = impersonation.user === '' && groups.length === 0 && asGroup === undefined
  return isNone && impersonation.uid === '' ? undefined : impersonation
}

/** The headers of each request. */
export function impersonationHeaders(
  impersonation: Impersonation | undefined,
): Readonly<Record<string, string | readonly string[]>> {
  if (impersonation === undefined) return {}
  const { user, groups, uid } = impersonation
  return {
    ...(user === '' ? {} : { 'impersonate-user': user }),
    ...(groups.length === 0 ? {} : { 'impersonate-group': groups }),
    ...(uid === '' ? {} : { 'impersonate-uid': uid }),
  }
}
