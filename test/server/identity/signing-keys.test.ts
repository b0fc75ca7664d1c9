import { decodeProtectedHeader } from 'jose'
import { expect, it, vi } from 'vitest'
import { arrayAt, stringAt } from '../../../src/lib/json.ts'
import { newKey } from '../../../src/orchserver/certificates/pem.ts'
import { hasEtcd } from '../../support/etcd/has-etcd.ts'
import { lagUntil } from '../../support/identity/lag.ts'
import { type Replicas, startReplicas } from '../../support/identity/replicas.ts'
import type { UserClient } from '../../support/identity/user-client.ts'

const TOKEN = '/api/v1/namespaces/default/serviceaccounts/default/token'

/** The servers read the file of keys every ten seconds. */
const WAITING = { timeout: 90_000, interval: 100 }

async function issue(admin: UserClient): Promise<{ readonly token: string; readonly key: string }> {
  const token = stringAt(await admin.create(TOKEN, { spec: {} }), 'status', 'token')
  return { token, key: decodeProtectedHeader(token).kid! }
}

/** The ids of the keys that a server publishes. */
async function published(admin: UserClient): Promise<readonly string[]> {
  const { body } = await admin.send({ method: 'GET', path: '/openid/v1/jwks' })
  return arrayAt(body, 'keys').map((key) => stringAt(key, 'kid'))
}

async function expectEverywhere(replicas: Replicas, token: string, status: number): Promise<void> {
  for (const user of await replicas.withToken(token)) {
    expect(await user.review()).toMatchObject({ status })
  }
}

it.runIf(hasEtcd())(
  'both replicas take over a rotated key, and refuse the tokens of a removed one',
  async () => {
    await using replicas = await startReplicas()
    const { admins, key: old, writeKeys } = replicas
    await lagUntil(201, () => admins[0].send({ method: 'POST', path: TOKEN, body: { spec: {} } }))
    const before = await issue(admins[0])
    await expectEverywhere(replicas, before.token, 201)

    // Published everywhere before it signs, so that no replica gets a token whose key it does not know.
    const next = newKey()
    await writeKeys(old, next)
    await vi.waitFor(async () => {
      for (const admin of admins) expect(await published(admin)).toHaveLength(2)
    }, WAITING)
    expect((await issue(admins[0])).key).toBe(before.key)

    await writeKeys(next, old)
    for (const admin of admins) {
      await vi.waitFor(async () => expect((await issue(admin)).key).not.toBe(before.key), WAITING)
      const after = await issue(admin)
      expect(await published(admin)).toEqual([after.key, before.key])
      await expectEverywhere(replicas, after.token, 201)
    }
    await expectEverywhere(replicas, before.token, 201)

    const after = await issue(admins[0])
    const users = await replicas.withToken(before.token)
    for (const user of users) expect(await user.review()).toMatchObject({ status: 201 })
    await writeKeys(next)
    for (const user of users) await lagUntil(401, () => user.review())
    await expectEverywhere(replicas, after.token, 201)
    for (const admin of admins) expect(await published(admin)).toEqual([after.key])
  },
)
