import { expect, test } from 'vitest'
import type { JsonObject } from '../../lib/json.ts'
import { PROTOBUF } from '../encoding/decode-protobuf.ts'
import { encodeBody } from '../encoding/testing/test-encoder.ts'
import { type IdentityApi, startIdentityApi } from '../testing/identity-api.ts'
import { POD } from '../testing/test-api.ts'

const GROUP = 'rbac.authorization.k8s.io'
const RBAC = `/apis/${GROUP}/v1`
const ORCH = '/apis/rbac.authorization.orch.io/v1'
const CORE = '/api/v1/namespaces/default'
const OTHER = '/api/v1/namespaces/kube-system'
const PODS = `${CORE}/pods`
const REVIEWS = '/apis/authorization.k8s.io/v1'
const MERGE = { 'content-type': 'application/merge-patch+json' }
const APPLY = { 'content-type': 'application/apply-patch+yaml' }
const YAML = { 'content-type': 'application/yaml' }

type Body = JsonObject | string | Buffer

type Attempt = readonly [
  user: string,
  method: string,
  path: string,
  body?: Body | undefined,
  headers?: Readonly<Record<string, string>>,
]

/**
 * Users of the namespace `default`: `editor` and `admin`, who have what the roles of these names have,
 * and `binder`, who may write bindings alone.
 */
async function startUsers(): Promise<IdentityApi> {
  const users = ['editor', 'admin', 'binder']
  const api = await startIdentityApi(users.map((name) => ({ name })))
  await api.make(`${RBAC}/clusterroles`, {
    metadata: { name: 'bindings' },
    rules: [
      { verbs: ['*'], apiGroups: [GROUP], resources: ['rolebindings', 'clusterrolebindings'] },
    ],
  })
  await api.make(`${RBAC}/clusterrolebindings`, {
    metadata: { name: 'binder' },
    roleRef: { apiGroup: GROUP, kind: 'ClusterRole', name: 'bindings' },
    subjects: [{ apiGroup: GROUP, kind: 'User', name: 'binder' }],
  })
  const granted = { editor: ['view', 'edit'], admin: ['view', 'edit', 'admin'] }
  for (const [name, roles] of Object.entries(granted)) {
    for (const role of roles) {
      await api.make(`${RBAC}/namespaces/default/rolebindings`, {
        metadata: { name: `${name}-${role}` },
        roleRef: { apiGroup: GROUP, kind: 'ClusterRole', name: `system:aggregate-to-${role}` },
        subjects: [{ apiGroup: GROUP, kind: 'User', name }],
      })
    }
  }
  const restricted = { 'kubernetes.io/enforce-mountable-secrets': 'true' }
  await api.make(`${CORE}/serviceaccounts`, { metadata: { name: 'default' } })
  await api.make(`${CORE}/serviceaccounts`, {
    metadata: { name: 'restricted', annotations: restricted },
    secrets: [{ name: 'own' }],
  })
  const roles = `${RBAC}/namespaces/default/roles`
  await expect.poll(async () => (await api.as('admin', 'GET', roles)).status).toBe(200)
  await expect.poll(async () => (await api.as('editor', 'GET', PODS)).status).toBe(200)
  return api
}

function podOf(spec: JsonObject, metadata: JsonObject = {}): JsonObject {
  return { metadata: { name: 'p', ...metadata }, spec: { ...POD, ...spec } }
}

function restricted(spec: JsonObject): JsonObject {
  return podOf({ serviceAccountName: 'restricted', ...spec })
}

const [main] = POD.containers
const reading = (parts: JsonObject): JsonObject => ({ ...main, ...parts })
const env = [{ name: 'A', valueFrom: { secretKeyRef: { name: 'other', key: 'k' } } }]
const envFrom = [{ secretRef: { name: 'other' } }]
const typed = (kind: string, object: JsonObject): JsonObject => ({
  apiVersion: 'v1',
  kind,
  ...object,
})
const podText = (pod: JsonObject): string => JSON.stringify(typed('Pod', pod))

const mountable: readonly Attempt[] = [
  restricted({ volumes: [{ name: 'v', secret: { secretName: 'other' } }] }),
  restricted({ volumes: [{ name: 'v', projected: { sources: [{ secret: { name: 'other' } }] } }] }),
  restricted({ containers: [reading({ env })] }),
  restricted({ containers: [reading({ envFrom })] }),
  restricted({ initContainers: [{ ...main, name: 'i', env }] }),
  restricted({ initContainers: [{ ...main, name: 'i', envFrom }] }),
  restricted({ ephemeralContainers: [{ ...main, name: 'e', env }] }),
  restricted({ ephemeralContainers: [{ ...main, name: 'e', envFrom }] }),
  restricted({ imagePullSecrets: [{ name: 'other' }] }),
  podOf({ serviceAccount: 'restricted', containers: [reading({ envFrom })] }),
  podOf({ serviceAccountName: '', serviceAccount: 'restricted', containers: [reading({ env })] }),
  podOf({ serviceAccountName: 'missing' }),
  podOf(
    { containers: [reading({ envFrom })] },
    { annotations: { 'kubernetes.io/config.mirror': 'x' } },
  ),
  podOf({ serviceAccountName: 'default' }, { annotations: { 'orch.io/config.mirror': '' } }),
].flatMap((pod): readonly Attempt[] => [
  ['editor', 'POST', PODS, pod],
  ['editor', 'POST', `${PODS}?dryRun=All&fieldValidation=Ignore`, pod],
  ['editor', 'POST', PODS, podText(pod), YAML],
  ['editor', 'PATCH', `${PODS}/p?fieldManager=a&force=true`, podText(pod), APPLY],
  ['editor', 'POST', PODS, encodeBody(typed('Pod', pod)), { 'content-type': PROTOBUF }],
])

const rule = (resource: string): JsonObject => ({
  verbs: ['get'],
  apiGroups: [''],
  resources: [resource],
})
const role = (kind: string, ...rules: readonly JsonObject[]): JsonObject => ({
  apiVersion: `${GROUP}/v1`,
  kind,
  metadata: { name: 'x' },
  rules: [...rules],
})

function binding(group: string, kind = 'ClusterRole', name = 'cluster-admin'): JsonObject {
  const subjects = [{ apiGroup: group, kind: 'User', name: 'binder' }]
  return {
    apiVersion: `${group}/v1`,
    kind: 'RoleBinding',
    metadata: { name: 'x' },
    subjects,
    roleRef: { apiGroup: group, kind, name },
  }
}

const roles = `${RBAC}/namespaces/default/roles`
const bindings = `${RBAC}/namespaces/default/rolebindings`
const ofOrch = 'rbac.authorization.orch.io'
const protobuf = { 'content-type': PROTOBUF }

const granting: readonly Attempt[] = [
  ['admin', 'POST', roles, encodeBody(role('Role', rule('nodes'))), protobuf],
  ['admin', 'POST', roles, JSON.stringify(role('Role', rule('nodes'))), YAML],
  ['admin', 'POST', roles, { metadata: { generateName: 'x' }, rules: [rule('nodes')] }],
  ['admin', 'POST', bindings, encodeBody(binding(GROUP)), protobuf],
  ['admin', 'POST', `${ORCH}/namespaces/default/rolebindings`, binding(ofOrch)],
  ['admin', 'PATCH', `${bindings}/x?fieldManager=a`, JSON.stringify(binding(GROUP)), APPLY],
  ['binder', 'POST', bindings, binding(GROUP, 'ClusterRole', 'system:aggregate-to-view')],
  ['binder', 'PATCH', `${bindings}/admin-admin`, { subjects: binding(GROUP)['subjects']! }, MERGE],
  [
    'binder',
    'PATCH',
    `${ORCH}/namespaces/default/rolebindings/admin-admin`,
    { subjects: binding(ofOrch)['subjects']! },
    MERGE,
  ],
  [
    'binder',
    'POST',
    `${RBAC}/clusterrolebindings`,
    { ...binding(GROUP), kind: 'ClusterRoleBinding' },
  ],
  ['admin', 'POST', `${RBAC}/clusterroles`, role('ClusterRole', rule('pods'))],
  ['admin', 'POST', `${RBAC}/clusterrolebindings`, binding(GROUP)],
  ['admin', 'POST', `${RBAC}/namespaces/kube-system/roles`, role('Role')],
  ['admin', 'PATCH', `${RBAC}/clusterroles/system:aggregate-to-edit`, { rules: [] }, MERGE],
]

const elsewhere: readonly Attempt[] = [
  ['editor', 'POST', `${CORE}/endpoints`, { metadata: { name: 'x' } }],
  ['editor', 'PUT', `${CORE}/endpoints/x`, { metadata: { name: 'x' } }],
  ['admin', 'PATCH', `${CORE}/endpoints/x`, { subsets: [] }, MERGE],
  ['admin', 'POST', '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices', {}],
  ['admin', 'POST', '/apis/discovery.orch.io/v1/namespaces/default/endpointslices', {}],
  ['editor', 'GET', roles],
  ['editor', 'GET', bindings],
  ['editor', 'PATCH', `${CORE}/services/x/status`, { status: {} }, MERGE],
  ['editor', 'PATCH', `${PODS}/x/status`, { status: { podIP: '10.0.0.1' } }, MERGE],
  ['editor', 'POST', `${PODS}/x/binding`, {}],
  ['editor', 'GET', `${OTHER}/secrets`],
  ['editor', 'GET', `${OTHER}/secrets/x`],
  ['editor', 'GET', '/api/v1/secrets'],
  ['editor', 'GET', '/api/v1/secrets?fieldSelector=metadata.namespace%3Ddefault'],
  ['editor', 'GET', '/api/v1/watch/secrets'],
  ['editor', 'GET', '/api/v1/pods?watch=1'],
  ['admin', 'PUT', '/api/v1/namespaces/default/finalize', {}],
  ['admin', 'DELETE', '/api/v1/namespaces/default'],
  ['admin', 'GET', '/api/v1/nodes'],
  ['admin', 'POST', `${REVIEWS}/subjectaccessreviews`, { spec: { user: 'root' } }],
  ['editor', 'POST', `${REVIEWS}/namespaces/default/localsubjectaccessreviews`, {}],
  ['admin', 'POST', `${REVIEWS}/namespaces/kube-system/localsubjectaccessreviews`, {}],
  ['admin', 'POST', '/apis/authentication.k8s.io/v1/tokenreviews', { spec: { token: 'x' } }],
  ['editor', 'POST', `${OTHER}/serviceaccounts/default/token`, {}],
  ...[
    { 'impersonate-user': 'system:serviceaccount:kube-system:tokens-controller' },
    { 'impersonate-user': 'system:serviceaccount:default:default', 'impersonate-group': 'x' },
    { 'impersonate-user': 'system:serviceaccount:default:default', 'impersonate-uid': 'x' },
    { 'impersonate-user': 'system:serviceaccount:default:x:y' },
    { 'impersonate-user': 'system:serviceaccount:default' },
    { 'impersonate-user': 'system:anonymous' },
    { 'impersonate-user': 'SYSTEM:serviceaccount:default:default' },
  ].map((headers): Attempt => ['editor', 'GET', PODS, undefined, headers]),
]

test.each([
  ['Secrets that an account does not permit', mountable],
  ['roles and bindings, in every form', granting],
  ['what is not of a user of a namespace', elsewhere],
])('%s: every attempt is 403', async (_what, attempts) => {
  const api = await startUsers()
  const wrong: string[] = []
  for (const [user, method, path, body, headers = {}] of attempts) {
    const { status, text } = await api.as(user, method, path, {
      ...(body !== undefined && { body }),
      headers,
    })
    if (status !== 403) wrong.push(`${user} ${method} ${path}: ${status} ${text.slice(0, 300)}`)
  }
  expect(wrong).toEqual([])
})

test('what is theirs, users of a namespace may do', async () => {
  const api = await startUsers()
  const own = restricted({ containers: [reading({ envFrom: [{ secretRef: { name: 'own' } }] })] })
  const account = { 'impersonate-user': 'system:serviceaccount:default:default' }
  const permitted: readonly Attempt[] = [
    ['editor', 'POST', PODS, own],
    ['editor', 'POST', `${CORE}/serviceaccounts/default/token`, {}],
    ['admin', 'POST', roles, role('Role', rule('pods'))],
    ['admin', 'POST', bindings, binding(GROUP, 'ClusterRole', 'system:aggregate-to-view')],
  ]
  for (const [user, method, path, body] of permitted) {
    const { status, text } = await api.as(user, method, path, { body: body as JsonObject })
    expect([path, status, status === 201 ? '' : text]).toEqual([path, 201, ''])
  }
  // No further than the account itself may go.
  const { status, text } = await api.as('editor', 'GET', PODS, { headers: account })
  expect([status, text]).toEqual([
    403,
    expect.stringContaining('system:serviceaccount:default:default'),
  ])
})

test('a Pod that runs reaches no other Secret by an update', async () => {
  const api = await startUsers()
  await api.make(PODS, restricted({}))
  const changes: readonly JsonObject[] = [
    { spec: { ephemeralContainers: [{ ...main, name: 'e', envFrom }] } },
    { spec: { containers: [reading({ envFrom })] } },
    { spec: { serviceAccountName: 'default' } },
    { spec: { volumes: [{ name: 'v', secret: { secretName: 'other' } }] } },
    { metadata: { annotations: { 'kubernetes.io/config.mirror': 'x' } } },
  ]
  for (const body of changes) {
    const answer = await api.as('editor', 'PATCH', `${PODS}/p`, { body, headers: MERGE })
    expect([body, answer.status]).toEqual([body, 422])
  }
})
