import { expect, test } from 'vitest'
import { newSigningKey } from '../../auth/testing/forge.ts'
import { forgeries } from '../../auth/testing/forgeries.ts'
import { accountPayload, secretPayload } from '../../auth/tokens/account-claims.ts'
import { sign } from '../../auth/tokens/token-issuer.ts'
import { type JsonObject, stringAt } from '../../lib/json.ts'
import { startIdentityApi } from '../testing/identity-api.ts'
import { POD, PODS } from '../testing/test-api.ts'

const ISSUER = 'https://orch.default.svc'
const ACCOUNTS = '/api/v1/namespaces/default/serviceaccounts'
const SECRETS = '/api/v1/namespaces/default/secrets'

/** A server with an account, a Pod and a Secret, and the claims of an honest token. */
async function startAttacked() {
  const [ec, rsa] = [newSigningKey('ES256'), newSigningKey('RS256')]
  const api = await startIdentityApi([], { identity: { keys: () => [ec, rsa] } })
  const uidOf = (object: JsonObject): string => stringAt(object, 'metadata', 'uid')
  const uid = uidOf(await api.make(ACCOUNTS, { metadata: { name: 'builder' } }))
  await api.make(ACCOUNTS, { metadata: { name: 'other' } })
  const spec = { ...POD, serviceAccountName: 'builder' }
  const pod = uidOf(await api.make(PODS, { metadata: { name: 'web' }, spec }))
  const secret = uidOf(await api.make(SECRETS, { metadata: { name: 'key' } }))
  const account = { name: 'builder', uid }
  const seconds = Math.floor(Date.now() / 1000)
  const times = { iat: seconds - 10, nbf: seconds - 10, exp: seconds + 600 }
  const honest = { iss: ISSUER, aud: [ISSUER], ...times, jti: 'a' }
  const claims: JsonObject = { ...honest, ...accountPayload({ namespace: 'default', account }) }
  const statusOf = async (token: string): Promise<number> => {
    const { status, text } = await api.as(token, 'GET', PODS)
    expect(text).not.toContain(token)
    return status
  }
  await expect.poll(async () => statusOf(await sign(claims, ec))).toBe(403)
  return { ec, rsa, honest, claims, seconds, account, pod, secret, statusOf }
}

test('each of more than sixty forged tokens is 401', async () => {
  const { statusOf, ...keys } = await startAttacked()
  const all = Object.values(forgeries({ ...keys, issuer: ISSUER, audience: ISSUER }))
  // What no header can hold never arrives.
  const sent = all
    .flatMap((tokens) => Object.entries(tokens))
    .filter(([, token]) => /^[\x21-\x7e]+$/u.test(token))
  const accepted: string[] = []
  for (const [name, token] of sent) if ((await statusOf(token)) !== 401) accepted.push(name)
  expect(accepted).toEqual([])
  expect(sent.length).toBeGreaterThanOrEqual(60)
})

test('a token that our own key signed is 401 when it names what does not exist, or contradicts itself', async () => {
  const { ec, honest, claims, account, pod, secret, statusOf } = await startAttacked()
  const named = (parts: JsonObject): JsonObject => ({
    ...claims,
    'kubernetes.io': { ...(claims['kubernetes.io'] as JsonObject), ...parts },
  })
  const web = { name: 'web', uid: pod }
  const legacy = secretPayload({ namespace: 'default', account, secretName: 'key' })
  const refused: readonly JsonObject[] = [
    named({ namespace: 'kube-system' }),
    named({ serviceaccount: { name: 'other', uid: account.uid } }),
    named({ serviceaccount: { ...account, uid: '' } }),
    named({ serviceaccount: { ...account, uid: account.uid.toUpperCase() } }),
    named({ serviceaccount: 'builder' }),
    named({ pod: { ...web, uid: secret } }),
    named({ pod: { ...web, name: 'gone' } }),
    named({ pod: { ...web, name: '../default/web' } }),
    named({ pod: null }),
    named({ pod: {} }),
    named({ pod: { name: 'web' } }),
    named({ secret: { name: 'key', uid: pod } }),
    named({ node: { name: 'n1', uid: pod } }),
    named({ pod: { ...web, uid: pod.slice(1) }, secret: { name: 'key', uid: secret } }),
    { ...claims, sub: 'system:serviceaccount:default:other' },
    { ...claims, sub: 'system:serviceaccount:default:builder:x' },
    { ...claims, sub: 'system:masters' },
    { ...claims, sub: '' },
    { ...claims, sub: ['system:serviceaccount:default:builder'] },
    { ...honest, sub: 'system:serviceaccount:default:builder' },
    { ...honest, ...accountPayload({ namespace: 'default/../kube-system', account }) },
    legacy,
    { ...legacy, aud: [ISSUER] },
    { ...legacy, iss: ISSUER },
    { ...claims, iss: 'kubernetes/serviceaccount' },
    { ...claims, iss: [ISSUER] },
  ]
  const accepted: JsonObject[] = []
  for (const payload of refused) {
    if ((await statusOf(await sign(payload, ec))) !== 401) accepted.push(payload)
  }
  expect(accepted).toEqual([])
  for (const bound of [{ pod: web }, { secret: { name: 'key', uid: secret } }]) {
    expect(await statusOf(await sign(named(bound), ec))).toBe(403)
  }
})
