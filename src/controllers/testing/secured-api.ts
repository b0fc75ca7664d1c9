import {
  type IdentityApi,
  type IdentityTestOptions,
  startIdentityApi,
} from '../../apiserver/testing/identity-api.ts'
import { accountGroups, accountUserName } from '../../auth/service-account-name.ts'
import type { User } from '../../auth/user.ts'
import { knownControllers, READER_ACCOUNT } from '../known-controllers.ts'

const NAMESPACE = 'kube-system'

/** An account of the controllers, as the server knows it. */
export function accountUser(account: string): User {
  const name = accountUserName({ namespace: NAMESPACE, name: account })
  return { name, groups: accountGroups(NAMESPACE) }
}

/** The accounts of all controllers, each once, and that of what they share. */
export const controlPlaneAccounts: readonly string[] = [
  ...new Set([READER_ACCOUNT, ...knownControllers([]).map(({ account }) => account)]),
]

/** A server that knows the accounts of the controllers; the requests of the test are the administrator's. */
export async function startSecuredApi(options: IdentityTestOptions = {}): Promise<IdentityApi> {
  const api = await startIdentityApi(controlPlaneAccounts.map(accountUser), options)
  return {
    ...api,
    call: (method, path, given) => api.as('root', method, path, given),
    watch: (path) => api.watch(path, { authorization: 'Bearer root' }),
  }
}
