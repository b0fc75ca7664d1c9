import { afterAll, beforeAll, expect, test } from 'vitest'
import { arrayAt, type JsonObject, stringAt, valueAt } from '../../../../src/lib/json.ts'
import { type PodCluster, startPodCluster } from './pod-cluster.ts'

const SHOP = '/api/v1/namespaces/shop'
const ROLE_BINDINGS = '/apis/rbac.authorization.k8s.io/v1/namespaces/shop/rolebindings'
const TOKENS = ['kubernetes.io', 'orch.io'].map(
  (brand) => `/var/run/secrets/${brand}/serviceaccount/token`,
)
/** From the answer to a deletion until a token is refused. */
const REVOCATION_MS = 1000

let cluster: PodCluster

beforeAll(async () => {
  cluster = await startPodCluster()
  await cluster.make('/api/v1/namespaces', { metadata: { name: 'shop' } })
  for (const [name, more] of [
    ['reader', {}],
    ['silent', { automountServiceAccountToken: false }],
  ] as const) {
    await cluster.make(`${SHOP}/serviceaccounts`, { metadata: { name }, ...more })
  }
})

afterAll(() => cluster.close())

test('a Pod lists the Pods of its namespace through the Service of the API, once a role permits it', async () => {
  const address = await cluster.runPod('shop', 'web', { serviceAccountName: 'reader' })
  expect(await cluster.fromPod(address, '/token-files')).toEqual(TOKENS)
  const refused = await cluster.fromPod(address, `${SHOP}/pods`)
  expect([refused['status'], stringAt(refused, 'body', 'message')]).toEqual([
    403,
    'pods is forbidden: User "system:serviceaccount:shop:reader" cannot list resource "pods" in API group "" in the namespace "shop"',
  ])
  const api = 'rbac.authorization.k8s.io'
  await cluster.make(ROLE_BINDINGS, {
    metadata: { name: 'reader' },
    roleRef: { apiGroup: api, kind: 'ClusterRole', name: 'view' },
    subjects: [{ kind: 'ServiceAccount', namespace: 'shop', name: 'reader' }],
  })
  await expect
    .poll(async () => (await cluster.fromPod(address, `${SHOP}/pods`))['status'])
    .toBe(200)
  const listed = await cluster.fromPod(address, `${SHOP}/pods`)
  const names = arrayAt(listed, 'body', 'items').map((pod) => stringAt(pod, 'metadata', 'name'))
  expect(names).toEqual(['web'])
  for (const path of ['/api/v1/namespaces/default/pods', `${SHOP}/secrets`, '/api/v1/nodes']) {
    expect([path, (await cluster.fromPod(address, path))['status']]).toEqual([path, 403])
  }
})

test.each<[string, JsonObject, readonly string[]]>([
  ['of an account that mounts none', { serviceAccountName: 'silent' }, []],
  [
    'that wants one of such an account',
    { serviceAccountName: 'silent', automountServiceAccountToken: true },
    TOKENS,
  ],
  ['that wants none', { serviceAccountName: 'reader', automountServiceAccountToken: false }, []],
  ['of the default account', {}, TOKENS],
])('a Pod %s has its token files', async (_, spec, expected) => {
  const name = `p${expected.length}-${JSON.stringify(spec).length}`
  const address = await cluster.runPod('shop', name, spec)
  expect(await cluster.fromPod(address, '/token-files')).toEqual(expected)
})

test('the token of a deleted account is refused within a second, to the Pod that has it', async () => {
  await cluster.make(`${SHOP}/serviceaccounts`, { metadata: { name: 'short' } })
  const address = await cluster.runPod('shop', 'short', { serviceAccountName: 'short' })
  const review = '/apis/authentication.k8s.io'
  expect((await cluster.fromPod(address, review))['status']).toBe(200)
  const deleted = await cluster.api.remove(`${SHOP}/serviceaccounts/short`, {})
  expect(deleted.ok).toBe(true)
  const began = performance.now()
  const answers: (readonly [unknown, number])[] = []
  do {
    const sent = performance.now()
    const status = valueAt(await cluster.fromPod(address, review), 'status')
    answers.push([status, sent - began])
  } while (answers.at(-1)?.[0] !== 401)
  expect(answers.filter(([status, ms]) => status !== 401 && ms > REVOCATION_MS)).toEqual([])
})
