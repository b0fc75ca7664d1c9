import { mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { startIdentityApi } from '../../apiserver/testing/identity-api.ts'
import type { User } from '../../auth/user.ts'
import { systemClock } from '../../lib/clock.ts'
import { type Json, valueAt } from '../../lib/json.ts'
import { newFolder } from '../testing/new-folder.ts'
import {
  type ComponentTokens,
  controllerUser,
  createComponentTokens,
  nodeAgentUser,
} from './component-tokens.ts'
import { openOwnSocket } from './own-socket.ts'

const server = { listen: () => Promise.reject(new Error('permission denied')) }

it('is refused where its path is too long, or taken by what is no socket', async () => {
  const dataDir = newFolder()
  const taken = join(dataDir, 'server.sock')
  mkdirSync(taken)
  for (const [folder, message] of [
    [dataDir, `${taken} cannot be removed: ERR_FS_EISDIR`],
    [join(dataDir, 'x'.repeat(100)), expect.stringContaining('107 bytes')],
  ] as const) {
    const opening = openOwnSocket({
      server,
      dataDir: folder,
      tokens: createComponentTokens(),
      clock: systemClock,
    })
    await expect(opening).rejects.toMatchObject({ code: 'NP_ORCHSERVER_SOCKET', message })
  }
})

/** The user that a client of the socket is, and the status of reads of Services and Secrets. */
async function seenBy(user: User, known?: ComponentTokens): Promise<readonly unknown[]> {
  const tokens = createComponentTokens()
  const { server } = await startIdentityApi([], {
    identity: { authenticators: [tokens.authenticator] },
  })
  const parts = { server, dataDir: newFolder(), clock: systemClock }
  const socket = await openOwnSocket({ ...parts, tokens: known ?? tokens })
  expect(statSync(join(parts.dataDir, 'server.sock')).mode & 0o777).toBe(0o600)
  const client = socket.client('test/1', user)
  onTestFinished(() => client.close())
  const review = '/apis/authentication.k8s.io/v1/selfsubjectreviews'
  const self = await client.create(review, {})
  const reads = ['/api/v1/namespaces/x/services/x', '/api/v1/namespaces/x/secrets/x']
  const read = await Promise.all(reads.map((path) => client.get(path)))
  return [
    valueAt(self.ok ? (self.value as Json) : {}, 'status', 'userInfo', 'username'),
    ...read.map((one) => (one.ok ? 200 : one.failure.code)),
  ]
}

it('each client acts as its user, and has the rights of that one only', async () => {
  const name = 'system:serviceaccount:kube-system:endpoint-controller'
  expect(await seenBy(controllerUser('endpoint-controller'))).toEqual([name, 404, 403])
  expect(await seenBy(nodeAgentUser('n1'))).toEqual(['system:node:n1', 404, 403])
  expect(await seenBy(controllerUser('endpoint-controller'), createComponentTokens())).toEqual([
    undefined,
    401,
    401,
  ])
})
