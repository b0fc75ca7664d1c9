import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { accountGroups, accountUserName } from '../../auth/service-account-name.ts'
import { type IdentityApi, type IdentityTestOptions, startIdentityApi } from './identity-api.ts'

const NAMESPACE = 'kube-system'

export interface SecuredApi extends IdentityApi {
  /** For clients that send a token: they do over no plain TCP connection. */
  readonly socketPath: string
}

/**
 * A server that knows accounts of kube-system, whose tokens are their names; the requests of
 * the test are the administrator's.
 */
export async function startSecuredApi(
  accounts: readonly string[],
  options: IdentityTestOptions = {},
): Promise<SecuredApi> {
  const users = accounts.map((token) => {
    const name = accountUserName({ namespace: NAMESPACE, name: token })
    return { name, groups: accountGroups(NAMESPACE), token }
  })
  const api = await startIdentityApi(users, options)
  const folder = await mkdtempDisposable(join(tmpdir(), 'secured-api-'))
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
