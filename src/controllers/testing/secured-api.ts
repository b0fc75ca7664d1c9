import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import {
  type IdentityApi,
  type IdentityTestOptions,
  startIdentityApi,
} from '../../apiserver/testing/identity-api.ts'
import { accountGroups, accountUserName } from '../../auth/service-account-name.ts'
import { createTemporaryFolder } from '../../client/testing/temporary-folder.ts'
import { knownControllers, READER_ACCOUNT } from '../known-controllers.ts'

const NAMESPACE = 'kube-system'

/** The names of the accounts of all controllers, each once, and that of what they share. */
export const controlPlaneAccounts: readonly string[] = [
  ...new Set([READER_ACCOUNT, ...knownControllers([]).map(({ account }) => account)]),
]

export interface SecuredApi extends IdentityApi {
  /** For clients that send a token: they do over no plain TCP connection. */
  readonly socketPath: string
}

/**
 * A server that knows the accounts of the controllers, whose tokens are their names; the requests of
 * the test are the administrator's.
 */
export async function startSecuredApi(options: IdentityTestOptions = {}): Promise<SecuredApi> {
  const users = controlPlaneAccounts.map((token) => {
    const name = accountUserName({ namespace: NAMESPACE, name: token })
    return { name, groups: accountGroups(NAMESPACE), token }
  })
  const api = await startIdentityApi(users, options)
  const folder = createTemporaryFolder()
  onTestFinished(() => folder.remove())
  const socketPath = join(folder.path, 'server.sock')
  await api.server.listen({ socketPath })
  return {
    ...api,
    socketPath,
    call: (method, path, given) => api.as('root', method, path, given),
    watch: (path) => api.watch(path, { authorization: 'Bearer root' }),
  }
}
