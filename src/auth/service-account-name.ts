import { AUTHENTICATED } from './user.ts'

const PREFIX = 'system:serviceaccount:'
const ALL_ACCOUNTS = 'system:serviceaccounts'

export interface ServiceAccountName {
  readonly namespace: string
  readonly name: string
}

/** `system:serviceaccount:<namespace>:<name>`: the user name of an account. */
export function accountUserName({ namespace, name }: ServiceAccountName): string {
  return `${PREFIX}${namespace}:${name}`
}

/** The account that a user name stands for; undefined: it is not the name of an account. */
export function parseAccountUserName(userName: string): ServiceAccountName | undefined {
  if (!userName.startsWith(PREFIX)) return undefined
  const [namespace = '', name = '', ...rest] = userName.slice(PREFIX.length).split(':')
  return namespace === '' || name === '' || rest.length > 0 ? undefined : { namespace, name }
}

/** The groups of every account of a namespace. */
export function accountGroups(namespace: string): readonly string[] {
  return [ALL_ACCOUNTS, `${ALL_ACCOUNTS}:${namespace}`, AUTHENTICATED]
}
