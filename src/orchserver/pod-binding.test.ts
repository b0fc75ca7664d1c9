import { expect, onTestFinished, test } from 'vitest'
import { startIdentityApi } from '../apiserver/testing/identity-api.ts'
import type { User } from '../auth/user.ts'
import type { ApiClient } from '../client/http/api-client.ts'
import { systemClock } from '../lib/clock.ts'
import { bind } from '../nodeagent/pods/pod-fleet.ts'
import { controllerUser, createComponentTokens, nodeAgentUser } from './access/component-tokens.ts'
import { openOwnSocket } from './access/own-socket.ts'
import { newFolder } from './testing/new-folder.ts'

const SHOP = '/api/v1/namespaces/default'
const spec = { containers: [{ name: 'main', image: 'none' }] }

/** A server with one Pod that waits for a node, and clients of it. */
async function scene() {
  const tokens = createComponentTokens()
  const root = {
    authenticate: async () => ({ user: { name: 'root', groups: ['system:masters'] } }),
  }
  const authenticators = [tokens.authenticator, root]
  const api = await startIdentityApi([], { identity: { authenticators } })
  await api.make(`${SHOP}/serviceaccounts`, { metadata: { name: 'default' } })
  const pod = await api.make(`${SHOP}/pods`, { metadata: { name: 'web' }, spec })
  const parts = { server: api.server, dataDir: newFolder(), clock: systemClock, tokens }
  const socket = await openOwnSocket(parts)
  const clientOf = (user: User): ApiClient => {
    const client = socket.client('test/1', user)
    onTestFinished(() => client.close())
    return client
  }
  return { pod, clientOf }
}

test('Pods are bound by an account that may do nothing else, and not by agents of nodes', async () => {
  const { pod, clientOf } = await scene()
  const [agent, binder] = [clientOf(nodeAgentUser('n1')), clientOf(controllerUser('pod-binder'))]
  expect(await bind(agent, pod, 'n1')).toMatchObject({ ok: false, failure: { code: 403 } })
  const body = { metadata: { name: 'x' }, spec }
  const refused = [
    binder.create(`${SHOP}/pods`, body),
    binder.get(`${SHOP}/pods/web`),
    binder.get(`${SHOP}/pods`),
    binder.remove(`${SHOP}/pods/web`, {}),
    binder.patch(`${SHOP}/pods/web/status`, {}, { type: 'application/merge-patch+json' }),
    binder.patch('/api/v1/nodes/n1', {}, { type: 'application/merge-patch+json' }),
    binder.get(`${SHOP}/secrets/x`),
  ]
  for (const one of await Promise.all(refused)) {
    expect(one).toMatchObject({ ok: false, failure: { code: 403 } })
  }
  expect(await bind(binder, pod, 'n1')).toMatchObject({
    ok: true,
    value: { spec: { nodeName: 'n1' } },
  })
})
