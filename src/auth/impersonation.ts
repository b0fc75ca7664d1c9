import type { ResourceAction } from './action.ts'
import { accountGroups, parseAccountUserName } from './service-account-name.ts'
import { ANONYMOUS, AUTHENTICATED, UNAUTHENTICATED, type User } from './user.ts'

const AUTHENTICATION_GROUP = 'authentication.k8s.io'

const PREFIX = 'impersonate-'
const EXTRA = 'impersonate-extra-'

/** `fault`: why the headers cannot be understood, for the client. */
export type ReadImpersonation = Impersonation | { readonly fault: string } | undefined

/**
 * Reads the headers `Impersonate-…` from Node's flat list of alternating names and values. A repeated header
 * stays several values: joined with commas, they would look like one value that contains commas.
 * Undefined: the request impersonates no user.
 */
export function readImpersonation(rawHeaders: readonly string[]): ReadImpersonation {
  const values = new Map<string, string[]>()
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!.toLowerCase()
    if (!name.startsWith(PREFIX)) continue
    const of = values.get(name) ?? []
    values.set(name, [...of, rawHeaders[index + 1]!])
  }
  if (values.size === 0) return undefined
  return readValues(values)
}

function readValues(values: ReadonlyMap<string, readonly string[]>): ReadImpersonation {
  const extra = new Map<string, readonly string[]>()
  for (const [header, all] of values) {
    const fault = faultOf(header, all)
    if (fault !== undefined) return { fault }
    if (!header.startsWith(EXTRA)) continue
    const key = decode(header.slice(EXTRA.length))
    if (key === undefined) return { fault: 'a header Impersonate-Extra- names no key' }
    extra.set(key, [...(extra.get(key) ?? []), ...all])
  }
  const name = values.get('impersonate-user')?.[0]
  if (name === undefined) {
    return { fault: 'the headers Impersonate-… need the header Impersonate-User' }
  }
  const uid = values.get('impersonate-uid')?.[0]
  return { name, uid, groups: values.get('impersonate-group') ?? [], extra }
}

function faultOf(header: string, values: readonly string[]): string | undefined {
  const isSingle = header === 'impersonate-user' || header === 'impersonate-uid'
  if (!isSingle && header !== 'impersonate-group' && !header.startsWith(EXTRA)) {
    return `the header ${JSON.stringify(header)} is not known`
  }
  if (isSingle && values.length > 1) return `the header ${header} must not be repeated`
  if (values.includes('') && !header.startsWith(EXTRA)) return `the header ${header} is empty`
  return undefined
}

/** The key of an extra value. It is percent-encoded in the header, because a header name cannot hold every byte. */
function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text).toLowerCase() || undefined
  } catch {
    return undefined
  }
}

/** The user that a request wants to act as, as its headers name it. */
interface Impersonation {
  readonly name: string
  readonly uid: string | undefined
  /** Empty: the groups that the user has by its name. */
  readonly groups: readonly string[]
  readonly extra: ReadonlyMap<string, readonly string[]>
}

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
