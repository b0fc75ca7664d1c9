import { afterAll, beforeAll, expect, test } from 'vitest'
import { stringAt } from '../../../src/lib/json.ts'
import { lagUntil } from '../../support/identity/lag.ts'
import { createPodInNew, refusals } from '../../support/identity/new-namespace.ts'
import { UserClient } from '../../support/identity/user-client.ts'
import {
  type OrchServerProcess,
  startOrchServer,
} from '../../support/orchserver/orch-server-process.ts'

const NAMESPACES = Array.from({ length: 50 }, (_, index) => `n${index}`)

let server: OrchServerProcess

beforeAll(async () => {
  // Fewer slots for components than Pods that wait: the controllers need one to create the accounts.
  server = await startOrchServer({ flags: ['--max-mutating-requests-inflight=40'] })
})

afterAll(() => server?.[Symbol.asyncDispose]())

test('a Pod that is created right after its namespace gets the default account: 50 at once', async () => {
  const pods = NAMESPACES.map(async (namespace) => {
    await using admin = await UserClient.admin(server)
    return await createPodInNew(namespace, [admin, admin])
  })
  const results = await Promise.allSettled(pods)
  expect(refusals(results)).toEqual([])
  for (const result of results) {
    expect(result).toMatchObject({
      value: { spec: { serviceAccountName: 'default', volumes: [{ projected: {} }] } },
    })
  }
})

test('a deleted default account is made again, and tokens of the old one stay invalid', async () => {
  await using admin = await UserClient.admin(server)
  const path = '/api/v1/namespaces/default/serviceaccounts/default'
  const get = () => admin.send({ method: 'GET', path })
  await lagUntil(200, get)
  const old = stringAt((await get()).body, 'metadata', 'uid')
  const token = stringAt(await admin.create(`${path}/token`, { spec: {} }), 'status', 'token')
  await using user = await UserClient.open(server, { token })
  expect(await user.review()).toMatchObject({ status: 201 })
  await admin.delete(path)
  await lagUntil(200, get)
  expect(stringAt((await get()).body, 'metadata', 'uid')).not.toBe(old)
  expect(await user.review()).toMatchObject({ status: 401 })
})

test('every new namespace has the authority of the server for its Pods', async () => {
  await using admin = await UserClient.admin(server)
  await admin.create('/api/v1/namespaces', { metadata: { name: 'trusting' } })
  const path = '/api/v1/namespaces/trusting/configmaps/kube-root-ca.crt'
  await lagUntil(200, () => admin.send({ method: 'GET', path }))
  const { ca } = await server.connection.tls!.material()
  const { body } = await admin.send({ method: 'GET', path })
  expect(ca).toContain(stringAt(body, 'data', 'ca.crt').trim())
})
