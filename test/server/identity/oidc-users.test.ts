import { generateKeyPair, SignJWT } from 'jose'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { valueAt } from '../../../src/lib/json.ts'
import { lagUntil } from '../../support/identity/lag.ts'
import { type OidcProvider, startOidcProvider } from '../../support/identity/oidc-provider.ts'
import { newTestFiles, type TestFiles } from '../../support/identity/test-files.ts'
import { UserClient } from '../../support/identity/user-client.ts'
import {
  type OrchServerProcess,
  startOrchServer,
} from '../../support/orchserver/orch-server-process.ts'

const PODS = { method: 'GET', path: '/api/v1/namespaces/default/pods' } as const

let files: TestFiles

beforeAll(async () => {
  files = await newTestFiles()
})

afterAll(() => files?.[Symbol.asyncDispose]())

async function startFor(
  { issuer, authority }: OidcProvider,
  ...more: readonly string[]
): Promise<OrchServerProcess> {
  await files.write('provider.crt', authority)
  const flags = [
    `--oidc-issuer-url=${issuer}`,
    '--oidc-client-id=orch',
    `--oidc-ca-file=${files.path('provider.crt')}`,
    '--oidc-groups-claim=groups',
    ...more,
  ]
  return startOrchServer({ flags })
}

async function reviewOf(server: OrchServerProcess, token: string) {
  await using user = await UserClient.open(server, { token })
  const { status, body } = await user.review()
  return { status, user: valueAt(body, 'status', 'userInfo') }
}

test('the users of a provider have a name and groups, and what these may do', async () => {
  await using provider = await startOidcProvider()
  await using server = await startFor(provider, '--oidc-groups-prefix=id:')
  await using admin = await UserClient.admin(server)
  const token = await provider.idToken({ sub: 'ann', groups: ['devs', 'system:masters'] })
  expect(await reviewOf(server, token)).toEqual({
    status: 201,
    user: {
      username: `${provider.issuer}#ann`,
      groups: ['id:devs', 'id:system:masters', 'system:authenticated'],
    },
  })
  await using ann = await UserClient.open(server, { token })
  expect(await ann.send(PODS)).toMatchObject({ status: 403 })
  const group = 'rbac.authorization.k8s.io'
  await admin.create(`/apis/${group}/v1/namespaces/default/rolebindings`, {
    metadata: { name: 'devs' },
    roleRef: { apiGroup: group, kind: 'ClusterRole', name: 'view' },
    subjects: [{ apiGroup: group, kind: 'Group', name: 'id:devs' }],
  })
  await lagUntil(200, () => ann.send(PODS))
})

test('refuses ID tokens for others, of others, expired, and with names of the cluster', async () => {
  await using provider = await startOidcProvider()
  await using server = await startFor(provider, '--oidc-username-prefix=-')
  const past = Math.floor(Date.now() / 1000) - 3600
  const { privateKey } = await generateKeyPair('ES256')
  const claims = { sub: 'ann', iss: provider.issuer, aud: 'orch', iat: past, exp: past + 7200 }
  const header = { alg: 'ES256', kid: 'first' }
  const forged = await new SignJWT(claims).setProtectedHeader(header).sign(privateKey)
  const tokens = {
    'another audience': await provider.idToken({ sub: 'ann', aud: 'other' }),
    'another issuer': await provider.idToken({ sub: 'ann', iss: 'https://127.0.0.1:1' }),
    expired: await provider.idToken({ sub: 'ann', iat: past, exp: past + 60 }),
    'no user': await provider.idToken({ groups: ['devs'] }),
    'an account': await provider.idToken({ sub: 'system:serviceaccount:default:default' }),
    'the masters': await provider.idToken({ sub: 'ann', groups: ['system:masters'] }),
    'the key of another': forged,
  }
  const statuses = Object.entries(tokens).map(
    async ([what, token]) => [what, (await reviewOf(server, token)).status] as const,
  )
  const refused = Object.keys(tokens).map((what) => [what, 401])
  expect(Object.fromEntries(await Promise.all(statuses))).toEqual(Object.fromEntries(refused))
  expect(await reviewOf(server, await provider.idToken({ sub: 'ann' }))).toMatchObject({
    status: 201,
    user: { username: 'ann' },
  })
})

test('a provider may be down when the server starts, and later when its keys are known', async () => {
  await using provider = await startOidcProvider()
  await provider.stop()
  await using server = await startFor(provider)
  const token = await provider.idToken({ sub: 'ann' })
  await using user = await UserClient.open(server, { token })
  await using admin = await UserClient.admin(server)
  expect(await user.review()).toMatchObject({ status: 401 })
  expect(await admin.review()).toMatchObject({ status: 201 })
  await provider.start()
  await lagUntil(201, () => user.review())
  await provider.stop()
  expect(await reviewOf(server, await provider.idToken({ sub: 'bob' }))).toMatchObject({
    status: 201,
  })
})

test('a provider rotates its keys: tokens of the new one are accepted, of the old one no more', async () => {
  await using provider = await startOidcProvider()
  await using server = await startFor(provider)
  const before = await provider.idToken({ sub: 'ann' })
  expect(await reviewOf(server, before)).toMatchObject({ status: 201 })
  await provider.rotate()
  const after = await provider.idToken({ sub: 'ann' })
  await using user = await UserClient.open(server, { token: after })
  await lagUntil(201, () => user.review())
  expect(await reviewOf(server, before)).toMatchObject({ status: 401 })
})
