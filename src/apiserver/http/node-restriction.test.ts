import { expect, test } from 'vitest'
import { type JsonObject, stringAt } from '../../lib/json.ts'
import { type IdentityApi, startIdentityApi } from '../testing/identity-api.ts'
import { POD } from '../testing/test-api.ts'

const RBAC = '/apis/rbac.authorization.k8s.io/v1'
const NODES = '/api/v1/nodes'
const CORE = '/api/v1/namespaces/default'
const ACCOUNTS = `${CORE}/serviceaccounts`
const LEASES = '/apis/coordination.k8s.io/v1/namespaces'
const CSI_NODES = '/apis/storage.k8s.io/v1/csinodes'
const REQUESTS = '/apis/certificates.k8s.io/v1/certificatesigningrequests'
const AGENT = 'system:node:n1'
const WIDE = 'system:node:wide'
const MERGE = { 'content-type': 'application/merge-patch+json' }
const APPLY = { 'content-type': 'application/apply-patch+yaml' }

/** The uids of the Pods by name. */
type Uids = Readonly<Record<string, string>>

interface Started {
  readonly api: IdentityApi
  readonly uids: Uids
}

/** Two nodes with a Pod each; the agent of the node `wide`, which has none, has every permission. */
async function startNodes(): Promise<Started> {
  const groups = ['system:nodes']
  const api = await startIdentityApi([
    { name: AGENT, groups },
    { name: WIDE, groups },
    { name: 'ann' },
  ])
  const apiGroup = 'rbac.authorization.k8s.io'
  await api.make(`${RBAC}/clusterrolebindings`, {
    metadata: { name: 'wide' },
    roleRef: { apiGroup, kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ apiGroup, kind: 'User', name: WIDE }],
  })
  const uids: Record<string, string> = {}
  await api.make(ACCOUNTS, { metadata: { name: 'default' } })
  for (const name of ['n1', 'n2']) {
    await api.make(NODES, { metadata: { name } })
    await api.make(ACCOUNTS, { metadata: { name: `account-${name}` } })
    await api.make(`${CORE}/secrets`, { metadata: { name: `secret-${name}` } })
    await api.make(`${LEASES}/kube-node-lease/leases`, { metadata: { name }, spec: {} })
    const spec = { ...POD, nodeName: name, serviceAccountName: `account-${name}` }
    const pod = await api.make(`${CORE}/pods`, { metadata: { name: `pod-${name}` }, spec })
    uids[name] = stringAt(pod, 'metadata', 'uid')
  }
  const unbound = { ...POD, serviceAccountName: 'account-n1' }
  const waiting = await api.make(`${CORE}/pods`, { metadata: { name: 'waiting' }, spec: unbound })
  uids['waiting'] = stringAt(waiting, 'metadata', 'uid')
  await expect
    .poll(async () => (await api.as(AGENT, 'GET', `${ACCOUNTS}/account-n1`)).status)
    .toBe(200)
  await expect.poll(async () => (await api.as(WIDE, 'GET', `${CORE}/secrets`)).status).toBe(200)
  return { api, uids }
}

type Attempt = readonly [
  user: string,
  method: string,
  path: string,
  body?: JsonObject,
  headers?: Readonly<Record<string, string>>,
]

function podToken(name: string, uid: string | undefined, more: JsonObject = {}): JsonObject {
  const reference = { kind: 'Pod', apiVersion: 'v1', name, ...(uid !== undefined && { uid }) }
  return { spec: { boundObjectRef: reference, ...more } }
}

const owner = { apiVersion: 'v1', kind: 'Node', name: 'n1', uid: '1' }
const mirror = { metadata: { name: 'x', annotations: { 'kubernetes.io/config.mirror': 'a' } } }
const token = (name: string): string => `${ACCOUNTS}/account-${name}/token`

/** What no agent may do, whatever its roles permit. */
function attemptsOf({ n1, n2, waiting }: Uids): readonly Attempt[] {
  const lease = (name: string): string => `${LEASES}/kube-node-lease/leases/${name}`
  const status = (pod: string): string => `${CORE}/pods/${pod}/status`
  return [
    [WIDE, 'DELETE', `${NODES}/n2`],
    [WIDE, 'DELETE', `${CORE}/pods/pod-n2`],
    [WIDE, 'DELETE', `${CORE}/pods/pod-n2?dryRun=All`],
    [WIDE, 'DELETE', `${CORE}/pods/waiting`],
    [WIDE, 'DELETE', `${CORE}/pods`],
    [WIDE, 'DELETE', NODES],
    [WIDE, 'DELETE', `${LEASES}/kube-node-lease/leases`],
    [WIDE, 'DELETE', lease('n2')],
    [WIDE, 'DELETE', lease('n2').replace('k8s.io', 'orch.io')],
    [WIDE, 'POST', NODES, { metadata: { name: 'n3' } }],
    [
      WIDE,
      'PATCH',
      `${NODES}/n3?fieldManager=a`,
      typed('Node', { metadata: { name: 'n3' } }),
      APPLY,
    ],
    [WIDE, 'PATCH', `${NODES}/n2`, { spec: { unschedulable: true } }, MERGE],
    [WIDE, 'PATCH', `${NODES}/n2/status`, { status: { addresses: [] } }, MERGE],
    [WIDE, 'POST', NODES, { metadata: { name: 'wide', ownerReferences: [owner] } }],
    [WIDE, 'POST', NODES, { metadata: { name: 'wide', labels: { 'orch.io/a': 'b' } } }],
    [WIDE, 'POST', `${CORE}/pods`, { ...mirror, spec: { ...POD, nodeName: 'wide' } }],
    [WIDE, 'POST', `${CORE}/pods`, { metadata: { generateName: 'x' }, spec: POD }],
    [WIDE, 'PATCH', status('pod-n2'), { status: { podIP: '10.0.0.9' } }, MERGE],
    [WIDE, 'PATCH', status('waiting'), { status: { phase: 'Failed' } }, MERGE],
    [WIDE, 'PATCH', `${CORE}/pods/waiting`, { spec: { nodeName: 'wide' } }, MERGE],
    [WIDE, 'PATCH', lease('n2'), { spec: { holderIdentity: 'wide' } }, MERGE],
    [WIDE, 'POST', `${LEASES}/kube-system/leases`, { metadata: { name: 'wide' }, spec: {} }],
    [WIDE, 'POST', token('n1'), {}],
    [WIDE, 'POST', token('n1'), podToken('pod-n1', n1)],
    [AGENT, 'POST', token('n1'), {}],
    [AGENT, 'POST', token('n1'), { spec: { audiences: ['vault'] } }],
    [AGENT, 'POST', token('n1'), podToken('pod-n1', undefined)],
    [AGENT, 'POST', token('n1'), podToken('pod-n1', '')],
    [AGENT, 'POST', token('n1'), podToken('waiting', waiting)],
    [AGENT, 'POST', `${token('n1')}?dryRun=All`, podToken('waiting', waiting)],
    [AGENT, 'POST', token('n1'), { spec: { boundObjectRef: { kind: 'Node', name: 'n1' } } }],
    [
      AGENT,
      'POST',
      token('n1'),
      { spec: { boundObjectRef: { kind: 'Secret', name: 'secret-n1' } } },
    ],
    [AGENT, 'POST', token('n2'), podToken('pod-n2', n2)],
    [AGENT, 'POST', token('n2'), podToken('pod-n1', n1)],
    [AGENT, 'POST', `${ACCOUNTS}/default/token`, podToken('pod-n1', n1)],
    [AGENT, 'POST', token('n1').replace('default', 'kube-system'), podToken('pod-n1', n1)],
    [AGENT, 'PATCH', status('pod-n1'), { metadata: { finalizers: ['a.io/b'] } }, MERGE],
    [AGENT, 'PATCH', status('pod-n1'), { metadata: { ownerReferences: [owner] } }, MERGE],
    [AGENT, 'PATCH', `${NODES}/n1`, { metadata: { ownerReferences: [owner] } }, MERGE],
    [AGENT, 'PATCH', `${NODES}/n1/status`, { metadata: { ownerReferences: [owner] } }, MERGE],
    [AGENT, 'POST', `${CORE}/pods/pod-n1/binding`, {}],
    [AGENT, 'POST', `${CORE}/pods/pod-n1/eviction`, {}],
    [AGENT, 'POST', `${CORE}/pods/pod-n1/exec`],
    [AGENT, 'GET', `${CORE}/pods/pod-n2/environment`],
    [AGENT, 'GET', `${CORE}/secrets/secret-n1`],
    [AGENT, 'GET', `${CORE}/secrets?fieldSelector=metadata.name%21%3Dsecret-n2`],
    [AGENT, 'GET', `${CORE}/serviceaccounts?fieldSelector=metadata.name%3Daccount-n2&watch=1`],
    [AGENT, 'GET', `/api/v1/watch/namespaces/default/serviceaccounts/account-n2`],
    [AGENT, 'GET', `/api/v1/serviceaccounts?fieldSelector=metadata.name%3Daccount-n1`],
    [AGENT, 'GET', NODES],
    [AGENT, 'GET', `${NODES}/n2`],
    [AGENT, 'POST', `${CORE}/services`, { metadata: { name: 'x' } }],
    [AGENT, 'POST', `${CORE}/endpoints`, { metadata: { name: 'x' } }],
    [AGENT, 'PATCH', `${CORE}/configmaps/x`, {}, MERGE],
    [AGENT, 'POST', CSI_NODES, { metadata: { name: 'n2' }, spec: { drivers: [] } }],
    [WIDE, 'POST', CSI_NODES, { metadata: { name: 'n2' }, spec: { drivers: [] } }],
    [AGENT, 'GET', CSI_NODES],
    [AGENT, 'GET', '/apis/storage.k8s.io/v1/volumeattachments'],
    [AGENT, 'POST', `${CORE}/pods`, { ...mirror, spec: { ...POD, nodeName: 'n1' } }],
    [AGENT, 'PATCH', `${REQUESTS}/r/approval`, {}, MERGE],
    [AGENT, 'PATCH', `${REQUESTS}/r/status`, {}, MERGE],
  ]
}

function typed(kind: string, object: JsonObject): JsonObject {
  return { apiVersion: 'v1', kind, ...object }
}

test('an agent of a node does nothing to other nodes and their Pods, whatever its roles permit', async () => {
  const { api, uids } = await startNodes()
  const attempts = attemptsOf(uids)
  const wrong: string[] = []
  for (const [user, method, path, body, headers] of attempts) {
    const { status, text } = await api.as(user, method, path, {
      ...(body && { body }),
      ...(headers && { headers }),
    })
    if (status !== 403) wrong.push(`${user} ${method} ${path}: ${status} ${text.slice(0, 200)}`)
  }
  expect(wrong).toEqual([])
  expect(attempts.length).toBeGreaterThanOrEqual(50)
  for (const path of [`${NODES}/n2`, `${CORE}/pods/pod-n2`, `${CORE}/pods/waiting`]) {
    expect([path, (await api.as('root', 'GET', path)).status]).toEqual([path, 200])
  }
})

test('an agent may do what kubelets do', async () => {
  const { api } = await startNodes()
  const { body: own } = await api.as(AGENT, 'GET', `${NODES}/n1`)
  const uid = stringAt(own, 'metadata', 'uid')
  const ownerReferences = [{ ...owner, uid, controller: true }]
  const csiNode = { metadata: { name: 'n1', ownerReferences }, spec: { drivers: null } }
  const metadata = { ...mirror.metadata, ownerReferences }
  const pem = '-----BEGIN CERTIFICATE REQUEST-----\nMAA=\n-----END CERTIFICATE REQUEST-----'
  const request = {
    request: Buffer.from(pem).toString('base64'),
    signerName: 'kubernetes.io/kubelet-serving',
    usages: ['server auth'],
  }
  const attributes = { verb: 'get', resource: 'nodes', subresource: 'proxy' }
  const review = { user: 'ann', resourceAttributes: attributes }
  const AUTHORIZATION = '/apis/authorization.k8s.io/v1/subjectaccessreviews'
  const attempts: readonly (readonly [string, string, JsonObject?])[] = [
    ['POST', CSI_NODES, csiNode],
    ['GET', `${CSI_NODES}/n1`],
    ['GET', '/apis/storage.k8s.io/v1/csidrivers'],
    ['GET', '/apis/node.k8s.io/v1/runtimeclasses'],
    ['POST', `${CORE}/pods`, { metadata, spec: { ...POD, nodeName: 'n1' } }],
    ['POST', REQUESTS, { metadata: { name: 'r' }, spec: request }],
    ['GET', `${REQUESTS}/r`],
    ['POST', '/apis/authentication.k8s.io/v1/tokenreviews', { spec: { token: 'x' } }],
    ['POST', AUTHORIZATION, { spec: review }],
  ]
  for (const [method, path, body] of attempts) {
    const { status, text } = await api.as(AGENT, method, path, body && { body })
    expect([method, path, status, text]).toEqual([
      method,
      path,
      method === 'POST' ? 201 : 200,
      text,
    ])
  }
})

test('an agent gets a token for a Pod on its node, which is bound to the Pod', async () => {
  const { api, uids } = await startNodes()
  const { status, body } = await api.as(AGENT, 'POST', token('n1'), {
    body: podToken('pod-n1', uids['n1']),
  })
  expect(status).toBe(201)
  const bearer = stringAt(body, 'status', 'token')
  expect((await api.as(bearer, 'GET', `${CORE}/pods`)).status).toBe(403)
  expect((await api.as(AGENT, 'DELETE', `${CORE}/pods/pod-n1?gracePeriodSeconds=0`)).status).toBe(
    200,
  )
  await expect.poll(async () => (await api.as(bearer, 'GET', `${CORE}/pods`)).status).toBe(401)
})
