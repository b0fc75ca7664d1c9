import { beforeEach, expect, test } from 'vitest'
import { type SecuredApi, startSecuredApi } from '../apiserver/testing/secured-api.ts'
import type { Answer } from '../apiserver/testing/test-api.ts'
import { sign } from '../auth/tokens/token-issuer.ts'
import { arrayAt, type Json, type JsonObject, stringAt, valueAt } from '../lib/json.ts'
import { controlPlaneAccounts, startControlPlane } from './testing/control-plane.ts'

const SHOP = '/api/v1/namespaces/default'
const SECRET = `${SHOP}/secrets/token`
const ACCOUNT = `${SHOP}/serviceaccounts/builder`
const ROLES = '/apis/rbac.authorization.k8s.io/v1/clusterroles'
const MERGE = { 'content-type': 'application/merge-patch+json' }

let api: SecuredApi

beforeEach(async () => {
  api = await startSecuredApi(controlPlaneAccounts)
  const identity = { ca: 'the CA', sign: (payload: JsonObject) => sign(payload, api.key) }
  startControlPlane(api.socketPath, { identity })
})

function asRoot(method: string, path: string, body?: JsonObject): Promise<Answer> {
  return api.as('root', method, path, body === undefined ? {} : { body, headers: MERGE })
}

async function value(path: string, ...field: readonly string[]): Promise<Json | undefined> {
  return valueAt((await asRoot('GET', path)).body, ...field)
}

/** The status of a request with a token: 403 for an account that has no role, 401 for one that is not accepted. */
async function statusFor(token: string): Promise<number> {
  return (await api.as(token, 'GET', `${SHOP}/pods`)).status
}

async function tokenIn(path: string): Promise<string> {
  const found = async () => stringAt((await asRoot('GET', path)).body, 'data', 'token')
  await expect.poll(found).not.toBe('')
  return Buffer.from(await found(), 'base64').toString()
}

async function makeToken(): Promise<string> {
  await api.make(`${SHOP}/serviceaccounts`, { metadata: { name: 'builder' } })
  const annotations = { 'orch.io/service-account.name': 'builder' }
  const metadata = { name: 'token', annotations }
  await api.make(`${SHOP}/secrets`, { metadata, type: 'orch.io/service-account-token' })
  return tokenIn(SECRET)
}

test('a token in a Secret ends with the account, and the Secret goes with it', async () => {
  const token = await makeToken()
  expect(await statusFor(token)).toBe(403)
  await asRoot('DELETE', ACCOUNT)
  await expect.poll(() => statusFor(token)).toBe(401)
  await expect.poll(async () => (await asRoot('GET', SECRET)).status).toBe(404)
  await api.make(`${SHOP}/serviceaccounts`, { metadata: { name: 'builder' } })
  expect(await statusFor(token)).toBe(401)
})

test('a token that was removed from its Secret is refused, and replaced', async () => {
  const token = await makeToken()
  await asRoot('PATCH', SECRET, { data: { token: null } })
  await expect.poll(() => statusFor(token)).toBe(401)
  expect(await statusFor(await tokenIn(SECRET))).toBe(403)
  expect(await value(SECRET, 'metadata', 'annotations')).toEqual({
    'orch.io/service-account.name': 'builder',
    'orch.io/service-account.uid': await value(ACCOUNT, 'metadata', 'uid'),
  })
})

test('every namespace has the account default and the certificates, also after a change', async () => {
  await api.make('/api/v1/namespaces', { metadata: { name: 'team' } })
  const team = '/api/v1/namespaces/team'
  const account = () => value(`${team}/serviceaccounts/default`, 'metadata', 'uid')
  await expect.poll(account).toBeTypeOf('string')
  const uid = await account()
  await asRoot('DELETE', `${team}/serviceaccounts/default`)
  await expect.poll(account).not.toBeOneOf([uid, undefined])
  expect(await value(`${team}/serviceaccounts/default`, 'automountServiceAccountToken')).toBe(true)
  const map = `${team}/configmaps/kube-root-ca.crt`
  await expect.poll(() => value(map, 'data')).toEqual({ 'ca.crt': 'the CA' })
  await asRoot('PATCH', map, { data: { 'ca.crt': 'mine', more: 'mine' } })
  await expect.poll(() => value(map, 'data')).toEqual({ 'ca.crt': 'the CA' })
  await asRoot('PATCH', map, { data: { 'ca.crt': 'mine' }, immutable: true })
  await expect.poll(() => value(map, 'data')).toEqual({ 'ca.crt': 'the CA' })
  await asRoot('DELETE', team)
  await expect.poll(async () => (await asRoot('GET', team)).status).toBe(404)
})

async function resourcesOf(role: string): Promise<readonly Json[]> {
  const { body } = await asRoot('GET', `${ROLES}/${role}`)
  return arrayAt(body, 'rules').flatMap((rule) => arrayAt(rule, 'resources'))
}

test('the built-in roles have the rules of those that are part of them', async () => {
  await expect.poll(() => resourcesOf('admin')).toContain('rolebindings')
  await expect.poll(() => resourcesOf('edit')).toContain('secrets')
  await expect.poll(() => resourcesOf('view')).toContain('pods/log')
  expect(await resourcesOf('view')).not.toContain('secrets')
  expect(await resourcesOf('edit')).not.toContain('rolebindings')
  await api.make(ROLES, {
    metadata: {
      name: 'widgets',
      labels: { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' },
    },
    rules: [{ verbs: ['get'], apiGroups: ['example.com'], resources: ['widgets'] }],
  })
  for (const role of ['view', 'edit', 'admin']) {
    await expect.poll(() => resourcesOf(role)).toContain('widgets')
  }
  await asRoot('DELETE', `${ROLES}/widgets`)
  for (const role of ['view', 'edit', 'admin']) {
    await expect.poll(() => resourcesOf(role)).not.toContain('widgets')
  }
})
