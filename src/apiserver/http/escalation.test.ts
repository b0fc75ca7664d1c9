import { expect, test } from 'vitest'
import type { JsonObject } from '../../lib/json.ts'
import { type IdentityApi, startIdentityApi } from '../testing/identity-api.ts'
import { POD } from '../testing/test-api.ts'

const RBAC = '/apis/rbac.authorization.k8s.io/v1'
const ORCH = '/apis/rbac.authorization.orch.io/v1'
const NS = '/namespaces/default'
const CORE = `/api/v1${NS}`
const LEASES = '/apis/coordination.k8s.io/v1/namespaces'
const GROUP = 'rbac.authorization.k8s.io'

type Attempt = readonly [
  user: string,
  method: string,
  path: string,
  body?: JsonObject | undefined,
  headers?: Readonly<Record<string, string>>,
]

const APPLY = { 'content-type': 'application/apply-patch+yaml' }
const MERGE = { 'content-type': 'application/merge-patch+json' }
const PATCH = { 'content-type': 'application/json-patch+json' }
const STRATEGIC = { 'content-type': 'application/strategic-merge-patch+json' }

function rule(verbs: readonly string[], resources: readonly string[], more: JsonObject = {}) {
  return { verbs: [...verbs], apiGroups: [''], resources: [...resources], ...more }
}

const READ_PODS = rule(['get'], ['pods'])
const READ_SECRETS = rule(['get'], ['secrets'])
const ANY = { verbs: ['*'], apiGroups: ['*'], resources: ['*'] }

function role(name: string, rules: readonly JsonObject[], more: JsonObject = {}): JsonObject {
  return { metadata: { name }, rules: [...rules], ...more }
}

function binding(name: string, kind: string, to: string): JsonObject {
  const subjects = [{ kind: 'User', name: 'ann', apiGroup: GROUP }]
  return { metadata: { name }, roleRef: { kind, name: to, apiGroup: GROUP }, subjects }
}

/** As a stored object is applied: with its type. */
function typed(kind: string, object: JsonObject): JsonObject {
  return { apiVersion: 'rbac.authorization.k8s.io/v1', kind, ...object }
}

const roles = `${RBAC}${NS}/roles`
const bindings = `${RBAC}${NS}/rolebindings`
const clusterRoles = `${RBAC}/clusterroles`
const clusterBindings = `${RBAC}/clusterrolebindings`

/** A server with users who may write, and whom something else must stop. */
async function startAttacked(): Promise<IdentityApi> {
  const api = await startIdentityApi([
    { name: 'ann' },
    { name: 'updater' },
    { name: 'binder' },
    { name: 'system:node:n1', groups: ['system:nodes'] },
    { name: 'system:node:n2' },
    { name: 'n1', groups: ['system:nodes'] },
  ])
  const rbac = (verbs: readonly string[], more: JsonObject = {}): JsonObject => ({
    verbs: [...verbs],
    apiGroups: [GROUP],
    resources: ['roles', 'clusterroles', 'rolebindings', 'clusterrolebindings'],
    ...more,
  })
  const writes = ['get', 'list', 'create', 'update', 'patch', 'delete']
  await api.make(clusterRoles, role('rbac-writer', [rbac(writes), READ_PODS]))
  await api.make(
    clusterRoles,
    role('updater', [
      rbac(['get', 'update', 'patch']),
      {
        verbs: ['update', 'patch'],
        apiGroups: ['*'],
        resources: ['leases', 'endpoints', 'events'],
      },
      rule(['update', 'patch', 'delete'], ['pods', 'nodes', 'deployments', 'configmaps']),
    ]),
  )
  await api.make(
    clusterRoles,
    role('binder', [rbac(writes), rbac(['bind'], { resourceNames: ['powerful'] })]),
  )
  for (const user of ['rbac-writer', 'updater', 'binder']) {
    const name = user === 'rbac-writer' ? 'ann' : user
    const bound = binding(user, 'ClusterRole', user)
    const subjects = [{ kind: 'User', name, apiGroup: GROUP }]
    await api.make(clusterBindings, { ...bound, subjects })
  }
  await api.make(roles, role('powerful', [READ_SECRETS]))
  await api.make(roles, role('weak', [READ_PODS]))
  await api.make(clusterRoles, role('powerful', [ANY]))
  await api.make(clusterRoles, role('weak', [READ_PODS]))
  await api.make(bindings, { ...binding('strong', 'Role', 'powerful'), subjects: [] })
  await api.make(clusterBindings, { ...binding('strong', 'ClusterRole', 'powerful'), subjects: [] })
  for (const name of ['n1', 'n2']) {
    await api.make('/api/v1/nodes', { metadata: { name } })
    await api.make(`/api/v1${NS}/secrets`, { metadata: { name: `secret-${name}` } })
    await api.make(`/api/v1${NS}/configmaps`, { metadata: { name: `config-${name}` } })
    await api.make(`/api/v1${NS}/serviceaccounts`, { metadata: { name: `account-${name}` } })
    const spec = {
      ...POD,
      nodeName: name,
      serviceAccountName: `account-${name}`,
      volumes: [
        { name: 'a', secret: { secretName: `secret-${name}` } },
        { name: 'b', configMap: { name: `config-${name}` } },
      ],
    }
    await api.make(`${CORE}/pods`, { metadata: { name: `pod-${name}` }, spec })
  }
  await expect.poll(async () => (await api.as('binder', 'GET', roles)).status).toBe(200)
  await expect
    .poll(async () => (await api.as(NODE, 'GET', `${CORE}/secrets/secret-n1`)).status)
    .toBe(200)
  return api
}

const NODE = 'system:node:n1'
const labelled = { labels: { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' } }

const escalations: readonly Attempt[] = [
  ['ann', 'POST', roles, role('x', [READ_SECRETS])],
  ['ann', 'POST', `${roles}?dryRun=All`, role('x', [READ_SECRETS])],
  ['ann', 'POST', `${ORCH}${NS}/roles`, role('x', [READ_SECRETS])],
  ['ann', 'POST', roles, role('x', [READ_PODS, READ_SECRETS])],
  ['ann', 'POST', roles, role('x', [rule(['*'], ['pods'])])],
  ['ann', 'POST', roles, role('x', [rule(['get'], ['*'])])],
  ['ann', 'POST', roles, role('x', [rule(['get'], ['pods/log'])])],
  ['ann', 'POST', roles, role('x', [rule(['get'], ['*/log'])])],
  ['ann', 'POST', roles, role('x', [rule(['get'], ['pods'], { apiGroups: ['*'] })])],
  ['ann', 'POST', roles, role('x', [rule(['get'], ['secrets'], { resourceNames: ['a'] })])],
  ['ann', 'PUT', `${roles}/x`, role('x', [READ_SECRETS])],
  ['ann', 'PUT', `${roles}/weak`, role('weak', [READ_SECRETS])],
  ['ann', 'PUT', `${roles}/weak?dryRun=All`, role('weak', [READ_SECRETS])],
  ['ann', 'PATCH', `${roles}/weak`, { rules: [READ_SECRETS] }, MERGE],
  ['ann', 'PATCH', `${roles}/weak`, { rules: [READ_SECRETS] }, STRATEGIC],
  ['ann', 'PATCH', `${roles}/x?fieldManager=a`, typed('Role', role('x', [READ_SECRETS])), APPLY],
  [
    'ann',
    'PATCH',
    `${roles}/weak?fieldManager=a&force=true`,
    typed('Role', role('weak', [READ_SECRETS])),
    APPLY,
  ],
  ['ann', 'POST', clusterRoles, role('x', [READ_SECRETS])],
  ['ann', 'POST', clusterRoles, role('x', [{ verbs: ['get'], nonResourceURLs: ['/metrics'] }])],
  ['ann', 'POST', clusterRoles, role('x', [{ verbs: ['get'], nonResourceURLs: ['*'] }])],
  ['ann', 'POST', clusterRoles, role('x', [rule(['impersonate'], ['users'])])],
  [
    'ann',
    'POST',
    clusterRoles,
    role('x', [rule(['escalate'], ['clusterroles'], { apiGroups: [GROUP] })]),
  ],
  [
    'ann',
    'POST',
    clusterRoles,
    role('x', [], { aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: 'b' } }] } }),
  ],
  [
    'ann',
    'PATCH',
    `${clusterRoles}/weak`,
    { aggregationRule: { clusterRoleSelectors: [{}] } },
    MERGE,
  ],
  ['ann', 'PATCH', `${clusterRoles}/weak`, { rules: [ANY] }, MERGE],
  ['ann', 'PUT', `${clusterRoles}/weak`, role('weak', [ANY])],
  ['ann', 'PATCH', `${clusterRoles}/powerful`, { metadata: labelled }, MERGE],
  ['ann', 'POST', bindings, binding('x', 'Role', 'powerful')],
  ['ann', 'POST', `${ORCH}${NS}/rolebindings`, binding('x', 'Role', 'powerful')],
  ['ann', 'POST', bindings, binding('x', 'ClusterRole', 'powerful')],
  ['ann', 'POST', bindings, binding('x', 'ClusterRole', 'cluster-admin')],
  ['ann', 'POST', clusterBindings, binding('x', 'ClusterRole', 'cluster-admin')],
  ['ann', 'POST', `${clusterBindings}?dryRun=All`, binding('x', 'ClusterRole', 'powerful')],
  ['ann', 'PUT', `${bindings}/x`, binding('x', 'Role', 'powerful')],
  ['ann', 'PUT', `${bindings}/strong`, binding('strong', 'Role', 'powerful')],
  [
    'ann',
    'PATCH',
    `${clusterBindings}/strong`,
    { subjects: binding('x', 'y', 'z')['subjects']! },
    MERGE,
  ],
  [
    'ann',
    'PATCH',
    `${bindings}/x?fieldManager=a`,
    typed('RoleBinding', binding('x', 'Role', 'powerful')),
    APPLY,
  ],
  ['binder', 'POST', bindings, binding('x', 'ClusterRole', 'cluster-admin')],
  ['binder', 'POST', roles, role('powerful2', [READ_SECRETS])],
]

const creations: readonly Attempt[] = [
  ['updater', 'PUT', `${roles}/new`, role('new', [])],
  ['updater', 'PUT', `${clusterRoles}/new`, role('new', [])],
  ['updater', 'PUT', `${bindings}/new`, binding('new', 'Role', 'weak')],
  ['updater', 'PATCH', `${roles}/new?fieldManager=a`, typed('Role', role('new', [])), APPLY],
  [
    'updater',
    'PATCH',
    `${CORE}/configmaps/new?fieldManager=a`,
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'new' } },
    APPLY,
  ],
  ['updater', 'PUT', `${CORE}/endpoints/new`, { metadata: { name: 'new' } }],
  [
    'updater',
    'PUT',
    `${LEASES}/default/leases/new?dryRun=All`,
    { metadata: { name: 'new' }, spec: {} },
  ],
  ['updater', 'DELETE', `${CORE}/pods`],
  ['updater', 'PATCH', `${CORE}/pods/pod-n1/status`, { status: { phase: 'Failed' } }, MERGE],
  ['updater', 'PATCH', '/api/v1/nodes/n1/status', { status: {} }, MERGE],
  ['updater', 'PATCH', `/apis/apps/v1${NS}/deployments/x/scale`, { spec: { replicas: 0 } }, MERGE],
  ['updater', 'PUT', '/api/v1/namespaces/default/finalize', { metadata: { name: 'default' } }],
]

const impersonations: readonly Attempt[] = [
  ['ann', 'GET', CORE, undefined, { 'impersonate-user': 'root' }],
  ['ann', 'GET', `${CORE}/pods`, undefined, { 'impersonate-user': 'system:node:n1' }],
  [
    'ann',
    'GET',
    `${CORE}/pods`,
    undefined,
    { 'impersonate-user': 'system:serviceaccount:kube-system:x' },
  ],
  [
    'ann',
    'GET',
    `${CORE}/pods`,
    undefined,
    { 'impersonate-user': 'ann', 'impersonate-group': 'system:masters' },
  ],
  ['ann', 'GET', `${CORE}/pods`, undefined, { 'impersonate-user': 'ann', 'impersonate-uid': '1' }],
  [
    'ann',
    'GET',
    `${CORE}/pods`,
    undefined,
    { 'impersonate-user': 'ann', 'impersonate-extra-scopes': 'all' },
  ],
  [NODE, 'GET', `${CORE}/pods`, undefined, { 'impersonate-user': 'root' }],
  [
    'root',
    'GET',
    `${CORE}/secrets`,
    undefined,
    { 'impersonate-user': 'bob', 'impersonate-group': 'g0, system:masters' },
  ],
]

const taint = { taints: [{ key: 'a', effect: 'NoSchedule' }] }
const nodeLabel = { metadata: { labels: { 'x.node-restriction.kubernetes.io/a': 'b' } } }
const lease = (name: string): JsonObject => ({ metadata: { name }, spec: {} })

const nodeAttempts: readonly Attempt[] = [
  [NODE, 'POST', '/api/v1/nodes', { metadata: { name: 'n3' } }],
  [NODE, 'PATCH', '/api/v1/nodes/n2', { metadata: { labels: { a: 'b' } } }, MERGE],
  [NODE, 'PATCH', '/api/v1/nodes/n2/status', { status: {} }, MERGE],
  [NODE, 'DELETE', '/api/v1/nodes/n1'],
  [NODE, 'DELETE', '/api/v1/nodes/n2'],
  [NODE, 'DELETE', '/api/v1/nodes'],
  [NODE, 'PATCH', '/api/v1/nodes/n1', nodeLabel, MERGE],
  [NODE, 'PATCH', '/api/v1/nodes/n1/status', nodeLabel, MERGE],
  [NODE, 'PATCH', '/api/v1/nodes/n1', { spec: taint }, MERGE],
  ...[
    'node-role.kubernetes.io/control-plane',
    'node-role.orch.io/control-plane',
    'node-role.kubernetes.io/master',
    'x.kubernetes.io/a',
    'kubernetes.io/a',
    'k8s.io/a',
    'orch.io/a',
    'x.k8s.io/a',
  ].flatMap((label): Attempt[] => [
    [NODE, 'PATCH', '/api/v1/nodes/n1', { metadata: { labels: { [label]: '' } } }, MERGE],
    [NODE, 'PATCH', '/api/v1/nodes/n1/status', { metadata: { labels: { [label]: '' } } }, MERGE],
  ]),
  [NODE, 'POST', `${LEASES}/kube-node-lease/leases`, lease('n2')],
  [NODE, 'POST', `${LEASES}/default/leases`, lease('n1')],
  [NODE, 'PUT', `${LEASES}/kube-node-lease/leases/n2`, lease('n2')],
  [NODE, 'POST', '/apis/coordination.orch.io/v1/namespaces/kube-node-lease/leases', lease('n2')],
  [NODE, 'POST', `${CORE}/pods`, { metadata: { name: 'x' }, spec: { ...POD, nodeName: 'n1' } }],
  [NODE, 'PATCH', `${CORE}/pods/pod-n1`, { metadata: { labels: { a: 'b' } } }, MERGE],
  [NODE, 'GET', `${CORE}/pods/pod-n2/environment`],
  [NODE, 'PATCH', `${CORE}/pods/pod-n1/status`, { metadata: { labels: { a: 'b' } } }, MERGE],
  [NODE, 'PATCH', `${CORE}/pods/pod-n2/status`, { status: { phase: 'Failed' } }, MERGE],
  [NODE, 'DELETE', `${CORE}/pods/pod-n2`],
  [NODE, 'DELETE', `${CORE}/pods`],
  [NODE, 'GET', `${CORE}/secrets/secret-n2`],
  [NODE, 'GET', `${CORE}/secrets`],
  [NODE, 'GET', '/api/v1/secrets'],
  [NODE, 'GET', '/api/v1/watch/namespaces/default/secrets'],
  [NODE, 'GET', `${CORE}/secrets?fieldSelector=metadata.name%3Dsecret-n2`],
  [NODE, 'GET', '/api/v1/namespaces/kube-system/secrets/secret-n1'],
  [NODE, 'GET', `${CORE}/configmaps/config-n2`],
  [NODE, 'GET', `${CORE}/serviceaccounts/account-n2`],
  [NODE, 'PUT', `${CORE}/secrets/secret-n1`, { metadata: { name: 'secret-n1' } }],
  [NODE, 'POST', `${CORE}/serviceaccounts/account-n2/token`, {}],
  [NODE, 'POST', clusterBindings, binding('x', 'ClusterRole', 'cluster-admin')],
  ['n1', 'GET', `${CORE}/secrets/secret-n1`],
  ['system:node:n2', 'GET', `${CORE}/secrets/secret-n2`],
  ['system:node:n2', 'PATCH', '/api/v1/nodes/n2/status', { status: {} }, MERGE],
]

/** The attempts that were answered otherwise than expected. */
async function unexpected(
  api: IdentityApi,
  attempts: readonly Attempt[],
  expected: readonly number[],
): Promise<readonly string[]> {
  const wrong: string[] = []
  for (const [user, method, path, body, headers] of attempts) {
    const options = { ...(body && { body }), ...(headers && { headers }) }
    const { status, text } = await api.as(user, method, path, options)
    if (!expected.includes(status)) wrong.push(`${user} ${method} ${path}: ${status} ${text}`)
  }
  return wrong
}

test.each([
  ['escalation', escalations],
  ['creation by an update, subresources and collections', creations],
  ['impersonation', impersonations],
  ['node agents', nodeAttempts],
])('%s: every attempt is 403', async (_what, attempts) => {
  expect(await unexpected(await startAttacked(), attempts, [403])).toEqual([])
})

test('an added rule by JSON patch is refused, with the rules that are missing, and a bound', async () => {
  const api = await startAttacked()
  const change = [{ op: 'add', path: '/rules/-', value: READ_SECRETS }]
  const { status, body } = await api.as('ann', 'PATCH', `${roles}/weak`, {
    body: change,
    headers: PATCH,
  })
  expect([status, body['message']]).toEqual([
    403,
    'roles.rbac.authorization.k8s.io "weak" is forbidden: user "ann" (groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}',
  ])
  const many = Array.from({ length: 50 }, (_, index) => rule(['get'], [`r${index}`]))
  const long = await api.as('ann', 'POST', roles, { body: role('x', many) })
  expect(long.body['message']).toMatch(/\nand 40 more$/u)
})

const permitted: readonly Attempt[] = [
  ['ann', 'POST', roles, role('ok', [READ_PODS])],
  ['ann', 'PUT', `${bindings}/ok`, binding('ok', 'Role', 'weak')],
  ['ann', 'PATCH', `${roles}/powerful`, { metadata: { annotations: { a: 'b' } } }, MERGE],
  ['ann', 'PATCH', `${bindings}/strong`, { metadata: { labels: { a: 'b' } } }, MERGE],
  ['binder', 'POST', bindings, binding('bound', 'Role', 'powerful')],
  [NODE, 'PATCH', '/api/v1/nodes/n1/status', { status: {} }, MERGE],
  [NODE, 'PATCH', '/api/v1/nodes/n1', { metadata: { labels: { a: 'b' } } }, MERGE],
  ...[
    'kubernetes.io/hostname',
    'topology.kubernetes.io/zone',
    'topology.orch.io/region',
    'node.kubernetes.io/instance-type',
    'kubelet.kubernetes.io/x',
    'beta.kubernetes.io/os',
    'failure-domain.beta.kubernetes.io/zone',
    'example.com/orch.io',
  ].map((label): Attempt => {
    return [NODE, 'PATCH', '/api/v1/nodes/n1', { metadata: { labels: { [label]: 'a' } } }, MERGE]
  }),
  [NODE, 'PATCH', `${CORE}/pods/pod-n1/status`, { status: { phase: 'Running' } }, MERGE],
  [NODE, 'GET', `${CORE}/pods/pod-n1/environment`],
  [NODE, 'GET', `${CORE}/configmaps/config-n1`],
  [NODE, 'GET', `${CORE}/serviceaccounts/account-n1`],
  [NODE, 'GET', `${CORE}/secrets?fieldSelector=metadata.name%3Dsecret-n1`],
]

test('who holds what it grants, or may bind it, and nodes on their own, are not stopped', async () => {
  expect(await unexpected(await startAttacked(), permitted, [200, 201])).toEqual([])
})

test('a role that does not exist cannot be bound', async () => {
  const api = await startAttacked()
  const answer = await api.as('ann', 'POST', bindings, { body: binding('x', 'Role', 'none') })
  expect([answer.status, answer.body['message']]).toEqual([
    404,
    'roles.rbac.authorization.k8s.io "none" not found',
  ])
})

test.each([
  '/api/v1/namespaces/default%2f..%2fkube-system/secrets',
  '//api/v1/secrets',
  '/api/v1/secrets%00',
  '/api/v1/secrets;x',
])('%s reaches nothing', async (path) => {
  const api = await startIdentityApi([{ name: 'ann' }])
  expect((await api.as('ann', 'GET', path)).status).toBe(400)
})
