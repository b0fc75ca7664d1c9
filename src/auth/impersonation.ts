import type { ResourceAction } from './action.ts'
import { accountGroups, parseAccountUserName } from './service-account-name.ts'
import { ANONYMOUS, AUTHENTICATED, UNAUTHENTICATED, type User } from './user.ts'

/** Whom a request wants to be, as its headers name it. */
export interface Impersonation {
  readonly name: string
  readonly uid: string | undefined
  /** Empty: those that the user would have. */
  readonly groups: readonly string[]
  readonly extra: ReadonlyMap<string, readonly string[]>
}

const AUTHENTICATION_GROUP = 'authentication.k8s.io'

/** The user that the request acts as, once every action of `impersonationActions` is permitted. */
export function impersonatedUser({ name, uid, groups, extra }: Impersonation): User {
  return { name, groups: groupsOf(name, groups), extra, ...(uid !== undefined && { uid }) }
}

/** What the sender of the request must be permitted to do: each part of the identity on its own. */
export function impersonationActions(impersonation: Impersonation): readonly ResourceAction[] {
  const { name, uid, groups, extra } = impersonation
  const account = parseAccountUserName(name)
  return [
    account === undefined
      ? action('users', { name })
      : action('serviceaccounts', { namespace: account.namespace, name: account.name }),
    ...groups.map((group) => action('groups', { name: group })),
    ...(uid === undefined ? [] : [action('uids', { group: AUTHENTICATION_GROUP, name: uid })]),
    ...[...extra].flatMap(([key, values]) =>
      values.map((value) =>
        action('userextras', { group: AUTHENTICATION_GROUP, subresource: key, name: value }),
      ),
    ),
  ]
}

function groupsOf(name: string, given: readonly string[]): readonly string[] {
  if (name === ANONYMOUS) return withGroup(given, UNAUTHENTICATED)
  const account = given.length === 0 ? parseAccountUserName(name) : undefined
  if (account !== undefined) return accountGroups(account.namespace)
  return given.includes(UNAUTHENTICATED) ? given : withGroup(given, AUTHENTICATED)
}

function withGroup(groups: readonly string[], group: string): readonly string[] {
  return groups.includes(group) ? groups : [...groups, group]
}

function action(resource: string, about: Partial<ResourceAction>): ResourceAction {
  const nothing = { group: '', subresource: '', namespace: '', name: '' }
  return { verb: 'impersonate', resource, ...nothing, ...about }
}
