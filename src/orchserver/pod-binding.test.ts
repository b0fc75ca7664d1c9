import { expect, onTestFinished, test } from 'vitest'
import { startIdentityApi } from '../apiserver/testing/identity-api.ts'
import type { User } from '../auth/user.ts'
import type { ApiClient } from '../client/http/api-client.ts'
import { readMeta } from '../controllers/objects/object-meta.ts'
import { createObjectWriter } from '../controllers/runner/object-writer.ts'
import { systemClock } from '../lib/clock.ts'
import { controllerUser, createComponentTokens, nodeAgentUser } from './access/component-tokens.ts'
import { openOwnSocket } from './access/own-socket.ts'
import { newFolder } from './testing/new-folder.ts'

const SHOP = '/api/v1/namespaces/default'
const POD = { containers: [{ name: 'main', image: 'none' }] }
const FORBIDDEN = { ok: false, failure: { code: 403 } }

/** A server with one Pod that waits for a node, and clients of it. */
async function scene() {
  const tokens = createComponentTokens()
  const root = {
    authenticate: async () => ({ user: { name: 'root', groups: ['system:masters'] } }),
  }
  const authenticators = [tokens.authenticator, root]
  const api = await startIdentityApi([], { identity: { authenticators } })
  await api.make(`${SHOP}/serviceaccounts`, { metadata: { name: 'default' } })
  const pod = await api.make(`${SHOP}/pods`, { metadata: { name: 'web' }, spec: POD })
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
  const [agent, scheduler] = [clientOf(nodeAgentUser('n1')), clientOf(controllerUser('scheduler'))]
  const binding = { verb: 'bind', collection: 'pods', meta: readMeta(pod), nodeName: 'n1' } as const
  expect(await createObjectWriter(agent).write(binding)).toMatchObject(FORBIDDEN)
  const merge = { type: 'application/merge-patch+json' } as const
  const spec = { nodeName: 'n1' }
  expect(await agent.patch(`${SHOP}/pods/web`, { spec }, merge)).toMatchObject(FORBIDDEN)
  const refused = [
    scheduler.create(`${SHOP}/pods`, { metadata: { name: 'x' }, spec: POD }),
    scheduler.get(`${SHOP}/pods`),
    scheduler.remove(`${SHOP}/pods/web`, {}),
    scheduler.patch(`${SHOP}/pods/web`, { spec }, merge),
    scheduler.patch('/api/v1/nodes/n1', {}, merge),
    scheduler.get(`${SHOP}/secrets/x`),
  ]
  for (const one of await Promise.all(refused)) expect(one).toMatchObject(FORBIDDEN)
  expect(await createObjectWriter(scheduler).write(binding)).toMatchObject({ ok: true })
  const found = await scheduler.get(`${SHOP}/pods/web`)
  expect(found).toMatchObject({ ok: true, value: { kind: 'Pod', spec: { nodeName: 'n1' } } })
})
