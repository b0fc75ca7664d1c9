import { expect, test } from 'vitest'
import { objectAt, stringAt } from '../../lib/json.ts'
import { catalogue } from '../kinds/catalogue.ts'
import { startApi } from '../testing/test-api.ts'
import { servedVersionsOf } from './resource.ts'

const IN_DEFAULT = 'v1/namespaces/default'

test.each([
  ['rbac.authorization', 'roles', { rules: [] }],
  ['networking', 'networkpolicies', { spec: {} }],
  ['coordination', 'leases', { spec: {} }],
  ['discovery', 'endpointslices', { addressType: 'IPv4', endpoints: [] }],
])('%s is served under two groups from one storage', async (group, plural, parts) => {
  const api = await startApi()
  const path = (brand: string): string => `/apis/${group}.${brand}.io/${IN_DEFAULT}/${plural}`
  const made = await api.make(path('orch'), { metadata: { name: 'x' }, ...parts })
  expect(made['apiVersion']).toBe(`${group}.orch.io/v1`)
  const { body } = await api.call('GET', `${path('k8s')}/x`)
  expect(body['apiVersion']).toBe(`${group}.k8s.io/v1`)
  expect(body['metadata']).toEqual(made['metadata'])
  const put = await api.call('PUT', `${path('orch')}/x`, { body })
  expect([put.status, put.body['message']]).toEqual([
    400,
    expect.stringContaining(`does not match the expected API version (${group}.orch.io/v1)`),
  ])
  expect((await api.call('DELETE', `${path('k8s')}/x`)).status).toBe(200)
  expect((await api.call('GET', `${path('orch')}/x`)).body['message']).toBe(
    `${plural}.${group}.orch.io "x" not found`,
  )
})

test('the version of Kubernetes comes first', () => {
  for (const resource of catalogue) {
    const groups = servedVersionsOf(resource).map((served) => served.group)
    expect(groups[0]).not.toContain('orch.io')
  }
})

test.each(['k8s', 'orch'])(
  'a binding sent with the group of %s.io is shown with that of its served version',
  async (sent) => {
    const api = await startApi()
    const apiGroup = `rbac.authorization.${sent}.io`
    const path = (brand: string): string =>
      `/apis/rbac.authorization.${brand}.io/${IN_DEFAULT}/rolebindings`
    const binding = {
      metadata: { name: 'x' },
      roleRef: { apiGroup, kind: 'Role', name: 'r' },
      subjects: [
        { apiGroup, kind: 'User', name: 'ann' },
        { kind: 'ServiceAccount', namespace: 'default', name: 'web' },
      ],
    }
    await api.make(path('orch'), binding)
    await api.make(path('k8s'), { ...binding, metadata: { name: 'y' } })
    for (const brand of ['k8s', 'orch']) {
      for (const name of ['x', 'y']) {
        const { body } = await api.call('GET', `${path(brand)}/${name}`)
        expect(stringAt(body, 'roleRef', 'apiGroup')).toBe(`rbac.authorization.${brand}.io`)
        expect(body['subjects']).toEqual([
          { ...objectAt(binding.subjects[0]), apiGroup: `rbac.authorization.${brand}.io` },
          binding.subjects[1],
        ])
      }
    }
  },
)

test('the role of a binding may not change, but be named by either group', async () => {
  const api = await startApi()
  const path = '/apis/rbac.authorization.orch.io/v1/clusterrolebindings'
  const roleRef = { kind: 'ClusterRole', name: 'reader' }
  await api.make(path, { metadata: { name: 'system:x' }, roleRef })
  const put = (changed: Readonly<Record<string, string>>) => {
    const body = { metadata: { name: 'system:x' }, roleRef: { ...roleRef, ...changed } }
    return api.call('PUT', `${path}/system:x`, { body })
  }
  expect((await put({ apiGroup: 'rbac.authorization.k8s.io' })).status).toBe(200)
  expect((await put({ apiGroup: 'rbac.authorization.orch.io' })).status).toBe(200)
  const { status, body } = await put({ name: 'cluster-admin' })
  expect([status, body['message']]).toEqual([
    422,
    expect.stringContaining('roleRef: Invalid value: {'),
  ])
})
