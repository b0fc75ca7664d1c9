import { expect, test } from 'vitest'
import { arrayAt, type Json, type JsonObject } from '../../lib/json.ts'
import { type IdentityApi, startIdentityApi } from '../testing/identity-api.ts'

const ROLES = '/apis/rbac.authorization.k8s.io/v1/clusterroles'
const MERGE = { 'content-type': 'application/merge-patch+json' }
const AUTOUPDATE = 'rbac.authorization.kubernetes.io/autoupdate'

async function rulesOf(api: IdentityApi, role: string): Promise<readonly Json[]> {
  return arrayAt((await api.as('root', 'GET', `${ROLES}/${role}`)).body, 'rules')
}

async function resourcesOf(api: IdentityApi, role: string): Promise<readonly Json[]> {
  return (await rulesOf(api, role)).flatMap((rule) => arrayAt(rule, 'resources'))
}

async function patch(api: IdentityApi, role: string, body: JsonObject): Promise<void> {
  const answer = await api.as('root', 'PATCH', `${ROLES}/${role}`, { body, headers: MERGE })
  expect(answer.status).toBe(200)
}

/** Another server on the same store, which repairs at its start. */
function startAgain(api: IdentityApi): Promise<IdentityApi> {
  return startIdentityApi([], { wrap: () => api.store })
}

test('aggregated roles have their rules from the first request on', async () => {
  const api = await startIdentityApi()
  expect(await resourcesOf(api, 'view')).toContain('pods/log')
  expect(await resourcesOf(api, 'view')).not.toContain('secrets')
  expect(await resourcesOf(api, 'edit')).toEqual(expect.arrayContaining(['pods/log', 'secrets']))
  expect(await resourcesOf(api, 'edit')).not.toContain('rolebindings')
  expect(await resourcesOf(api, 'admin')).toEqual(
    expect.arrayContaining(['pods/log', 'secrets', 'rolebindings']),
  )
})

test('at a start, they get the rules of all roles in the store, and lose others', async () => {
  const api = await startIdentityApi()
  const labels = { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' }
  const widgets = { verbs: ['get'], apiGroups: ['example.com'], resources: ['widgets'] }
  await api.make(ROLES, { metadata: { name: 'widgets', labels }, rules: [widgets] })
  await patch(api, 'view', { rules: [{ verbs: ['get'], apiGroups: [''], resources: ['nodes'] }] })
  const again = await startAgain(api)
  for (const role of ['view', 'edit', 'admin']) {
    expect(await resourcesOf(again, role)).toEqual(expect.arrayContaining(['widgets', 'pods/log']))
    expect(await resourcesOf(again, role)).not.toContain('nodes')
  }
})

test('a rule that was taken away comes back, and one that was added stays', async () => {
  const api = await startIdentityApi()
  const mine = { verbs: ['get'], apiGroups: ['example.com'], resources: ['widgets'] }
  await patch(api, 'system:node-proxier', { rules: [mine] })
  const again = await startAgain(api)
  expect(await resourcesOf(again, 'system:node-proxier')).toEqual(
    expect.arrayContaining(['widgets', 'services', 'endpointslices']),
  )
})

test.each(['view', 'system:node-proxier'])('%s stays as it is without autoupdate', async (role) => {
  const api = await startIdentityApi()
  await patch(api, role, { rules: [], metadata: { annotations: { [AUTOUPDATE]: 'false' } } })
  expect(await rulesOf(await startAgain(api), role)).toEqual([])
})
