import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { stringAt } from '../../../src/lib/json.ts'
import { hasEtcd } from '../../support/etcd/has-etcd.ts'
import { lagUntil, median } from '../../support/identity/lag.ts'
import { type Replicas, startReplicas } from '../../support/identity/replicas.ts'
import type { UserClient } from '../../support/identity/user-client.ts'

/** From the answer to the deletion until every replica refuses the token. */
const MAX_LAG_MS = 1000
const RUNS = 5

const BASE = '/api/v1/namespaces/default'
const ACCOUNTS = `${BASE}/serviceaccounts`
const SECRETS = `${BASE}/secrets`
const PODS = `${BASE}/pods`
const BINDINGS = '/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings'

/** A token, and what makes it invalid. */
interface Revocable {
  readonly token: string
  /** The path of the object that is deleted. */
  readonly path: string
}

let replicas: Replicas

beforeAll(async () => {
  if (hasEtcd()) replicas = await startReplicas()
})

afterAll(() => replicas?.[Symbol.asyncDispose]())

async function accountToken(admin: UserClient, name: string, bound?: object): Promise<string> {
  const spec = bound === undefined ? {} : { boundObjectRef: { apiVersion: 'v1', ...bound } }
  const made = await admin.create(`${ACCOUNTS}/${name}/token`, { spec })
  return stringAt(made, 'status', 'token')
}

async function ofAccount(admin: UserClient, name: string): Promise<Revocable> {
  await admin.create(ACCOUNTS, { metadata: { name } })
  return { token: await accountToken(admin, name), path: `${ACCOUNTS}/${name}` }
}

async function ofTokenSecret(admin: UserClient, name: string): Promise<Revocable> {
  await admin.create(ACCOUNTS, { metadata: { name } })
  const annotations = { 'kubernetes.io/service-account.name': name }
  const type = 'kubernetes.io/service-account-token'
  await admin.create(SECRETS, { metadata: { name, annotations }, type })
  const path = `${SECRETS}/${name}`
  const filled = async () => stringAt(await admin.must({ method: 'GET', path }), 'data', 'token')
  await lagUntil(200, async () => ({ status: (await filled()) === '' ? 404 : 200, body: {} }))
  return { token: Buffer.from(await filled(), 'base64').toString(), path }
}

async function ofBoundSecret(admin: UserClient, name: string): Promise<Revocable> {
  await admin.create(ACCOUNTS, { metadata: { name } })
  await admin.create(SECRETS, { metadata: { name } })
  return {
    token: await accountToken(admin, name, { kind: 'Secret', name }),
    path: `${SECRETS}/${name}`,
  }
}

async function ofPod(admin: UserClient, name: string): Promise<Revocable> {
  await admin.create(ACCOUNTS, { metadata: { name } })
  const spec = { serviceAccountName: name, containers: [{ name: 'c', image: 'none' }] }
  await admin.create(PODS, { metadata: { name }, spec })
  return { token: await accountToken(admin, name, { kind: 'Pod', name }), path: `${PODS}/${name}` }
}

describe.runIf(hasEtcd())('two replicas on one etcd', () => {
  test.each([
    ['the account', ofAccount],
    ['the Secret that holds it', ofTokenSecret],
    ['the Secret that it is bound to', ofBoundSecret],
    ['the Pod that it is bound to', ofPod],
  ])('both refuse a token within a second of the deletion of %s', async (_what, make) => {
    const lags: number[] = []
    for (let run = 0; run < RUNS; run++) {
      const name = `${make.name.toLowerCase()}-${run}`
      const admin = replicas.admins[run % 2]!
      const { token, path } = await make(admin, name)
      const users = await replicas.withToken(token)
      for (const user of users) await lagUntil(201, () => user.review())
      await admin.delete(path)
      const deleted = performance.now()
      const each = users.map((user) => lagUntil(401, () => user.review(), deleted))
      lags.push(Math.max(...(await Promise.all(each))))
    }
    expect(median(lags)).toBeLessThan(MAX_LAG_MS)
  })

  test('an account of the same name revives no token', async () => {
    const [admin] = replicas.admins
    const { token, path } = await ofAccount(admin, 'again')
    const users = await replicas.withToken(token)
    for (const user of users) await lagUntil(201, () => user.review())
    await admin.delete(path)
    const { token: fresh } = await ofAccount(admin, 'again')
    for (const user of await replicas.withToken(fresh)) await lagUntil(201, () => user.review())
    for (const user of users) expect(await user.review()).toMatchObject({ status: 401 })
  })

  test('a Secret of the same name revives no token', async () => {
    const [admin] = replicas.admins
    const { token, path } = await ofBoundSecret(admin, 'rebound')
    const users = await replicas.withToken(token)
    for (const user of users) await lagUntil(201, () => user.review())
    await admin.delete(path)
    await admin.create(SECRETS, { metadata: { name: 'rebound' } })
    const fresh = await accountToken(admin, 'rebound', { kind: 'Secret', name: 'rebound' })
    for (const user of await replicas.withToken(fresh)) await lagUntil(201, () => user.review())
    for (const user of users) expect(await user.review()).toMatchObject({ status: 401 })
  })

  test('both refuse within a second what a removed binding permitted, and name the user', async () => {
    const lags: number[] = []
    const [admin] = replicas.admins
    const { token } = await ofAccount(admin, 'bound')
    const users = await replicas.withToken(token)
    const name = 'system:serviceaccount:default:bound'
    const binding = {
      metadata: { name: 'bound' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
      subjects: [{ kind: 'ServiceAccount', name: 'bound', namespace: 'default' }],
    }
    const list = { method: 'GET', path: PODS } as const
    for (const user of users) await lagUntil(403, () => user.send(list))
    for (let run = 0; run < RUNS; run++) {
      await admin.create(BINDINGS, binding)
      for (const user of users) await lagUntil(200, () => user.send(list))
      await admin.delete(`${BINDINGS}/bound`)
      const deleted = performance.now()
      const each = users.map((user) => lagUntil(403, () => user.send(list), deleted))
      lags.push(Math.max(...(await Promise.all(each))))
    }
    expect(median(lags)).toBeLessThan(MAX_LAG_MS)
    for (const user of users) {
      const { body } = await user.send(list)
      expect(stringAt(body, 'message')).toContain(`User "${name}" cannot list resource "pods"`)
    }
  })
})
