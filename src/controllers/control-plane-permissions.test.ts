import { expect, test } from 'vitest'
import { NOT_AUDITED } from '../apiserver/audit/audit-log.ts'
import { type SecuredApi, startSecuredApi } from '../apiserver/testing/secured-api.ts'
import { ENDPOINTS, POD, PODS, SERVICES, SLICES, service } from '../apiserver/testing/test-api.ts'
import { componentRoles } from '../auth/builtin-roles/component-roles.ts'
import type { RoleRule } from '../auth/builtin-roles/role-object.ts'
import {
  type Permission,
  recordPermissions,
  unusedPermissions,
} from '../auth/testing/recorded-permissions.ts'
import { sign } from '../auth/tokens/token-issuer.ts'
import { arrayAt, type JsonObject, stringAt, valueAt } from '../lib/json.ts'
import { createFastClock } from '../lib/testing/fast-clock.ts'
import {
  COLLECTION_NAMES,
  COLLECTION_ROUTES,
  type CollectionName,
} from './cache/collection-route.ts'
import { knownControllers, READER_ACCOUNT } from './known-controllers.ts'
import { plainPools } from './loadbalancer/testing/pools.ts'
import type { ObjectWriter } from './runner/object-writer.ts'
import { controlPlaneAccounts, startControlPlane } from './testing/control-plane.ts'
import { expectGone, expectSoon } from './testing/expect-soon.ts'
import { conditionOf, readyCondition } from './testing/fixtures.ts'
import { endpoints, sliced } from './testing/shown-endpoints.ts'
import { makePod, setPod } from './testing/web-pods.ts'
import { jobLife } from './workloads/testing/served-jobs.ts'
import { daemonSetLife, statefulSetLife } from './workloads/testing/served-sets.ts'

const SHOP = '/api/v1/namespaces/default'
const NAMESPACES = '/api/v1/namespaces'
const NODES = '/api/v1/nodes'
const CONFIG_MAPS = `${SHOP}/configmaps`
const EVENTS = `${SHOP}/events`
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases'
const ROLES = '/apis/rbac.authorization.k8s.io/v1/clusterroles'
const REQUESTS = '/apis/certificates.k8s.io/v1/certificatesigningrequests'
const APPS = '/apis/apps/v1/namespaces/default'
const BUDGETS = '/apis/policy/v1/namespaces/default/poddisruptionbudgets'
const MERGE = { 'content-type': 'application/merge-patch+json' }

const OTHER_EVENTS = ['patch,update /events', 'create,patch,update events.k8s.io/events']
const ALL_EVENTS = ['create /events', ...OTHER_EVENTS]
const SLICES_OF_KUBERNETES = [
  'list,update discovery.k8s.io/endpointslices',
  'create discovery.k8s.io/endpointslices/restricted',
]

/**
 * What the roles of Kubernetes permit to its controllers, and ours do not do: kube-controller-manager runs with these
 * roles, too. It replaces objects (`update`) where ours patch them, lists and watches as the account of a controller
 * where ours share one reader, deletes nodes and whole collections, and sets references that block the deletion of an
 * owner, for which Kubernetes may require `update` of `finalizers`.
 */
const OF_KUBERNETES: Readonly<Record<string, readonly string[]>> = {
  'certificate-controller': [
    'delete,list,watch certificates.k8s.io/certificatesigningrequests',
    'update certificates.k8s.io/certificatesigningrequests/approval,certificates.k8s.io/certificatesigningrequests/status',
    // This server answers it in the composition of orch-server.
    'create authorization.k8s.io/subjectaccessreviews',
    ...ALL_EVENTS,
  ],
  'clusterrole-aggregation-controller': [
    'list,watch,update rbac.authorization.k8s.io/clusterroles',
  ],
  'daemon-set-controller': [
    'list,watch apps/daemonsets',
    'update apps/daemonsets/status,apps/daemonsets/finalizers',
    'list,update,watch apps/controllerrevisions',
    'list,watch /nodes,/pods',
    'create /pods/binding',
    ...OTHER_EVENTS,
  ],
  'deployment-controller': [
    'list,update,watch apps/deployments',
    'update apps/deployments/status,apps/deployments/finalizers',
    'list,update,watch apps/replicasets',
    'get,list,update,watch /pods',
    ...OTHER_EVENTS,
  ],
  'disruption-controller': [
    'list,watch /pods',
    'update /pods/status',
    'list,watch policy/poddisruptionbudgets',
    'update policy/poddisruptionbudgets/status',
    ...OTHER_EVENTS,
  ],
  'endpoint-controller': [
    'get,list,watch /pods',
    'list,watch /services',
    'list,update /endpoints',
    'create /endpoints/restricted',
    ...ALL_EVENTS,
  ],
  'endpointslice-controller': [
    'get,list,watch /nodes,/pods',
    'list,watch /services',
    'update /services/finalizers',
    ...SLICES_OF_KUBERNETES,
    ...OTHER_EVENTS,
  ],
  'endpointslicemirroring-controller': [
    'list,watch /endpoints,/services',
    'get /endpoints',
    'update /endpoints/finalizers,/services/finalizers',
    ...SLICES_OF_KUBERNETES,
    ...ALL_EVENTS,
  ],
  'generic-garbage-collector': ['list,watch,update */*', ...OTHER_EVENTS],
  'job-controller': [
    'list,patch,update,watch batch/jobs',
    'update batch/jobs/status,batch/jobs/finalizers',
    'list,watch /pods',
    ...OTHER_EVENTS,
  ],
  'namespace-controller': [
    'delete,list,watch /namespaces',
    'update /namespaces/finalize,/namespaces/status',
    'deletecollection */*',
  ],
  'node-controller': [
    'delete,list,update /nodes',
    'update /nodes/status,/pods/status',
    'list /pods',
    ...OTHER_EVENTS,
  ],
  'pod-garbage-collector': ['list,watch /pods', 'list /nodes'],
  'replicaset-controller': [
    'list,update,watch apps/replicasets',
    'update apps/replicasets/status,apps/replicasets/finalizers',
    'list,watch /pods',
    ...OTHER_EVENTS,
  ],
  'root-ca-cert-publisher': ['update /configmaps', ...ALL_EVENTS],
  'statefulset-controller': [
    'list,watch apps/statefulsets',
    'update apps/statefulsets/status,apps/statefulsets/finalizers',
    'list,update,watch apps/controllerrevisions',
    'list,update,watch /pods',
    ...OTHER_EVENTS,
  ],
  'ttl-after-finished-controller': ['list,watch batch/jobs', ...ALL_EVENTS],
  'service-account-controller': ALL_EVENTS,
  'service-controller': ['list,watch /nodes,/services', 'update /services/status', ...OTHER_EVENTS],
}

/** Lists, for a server that does not begin a watch with what is there already, or not in time on a busy machine. */
const WITHOUT_WATCH_LIST: ReadonlySet<Permission> = new Set(
  eachPermission(`list ${COLLECTION_NAMES.map(qualifiedName).join()}`),
)

test('controllers use all that their roles permit, and are refused nothing', async () => {
  const used = recordPermissions()
  const refused: string[] = []
  const api = await startSecuredApi(controlPlaneAccounts, {
    audit: {
      begin: ({ user, action }) => ({
        ...NOT_AUDITED,
        authorized: (decision) => {
          if (decision === 'forbid') refused.push(`${user?.name} ${JSON.stringify(action)}`)
        },
      }),
    },
  })
  const clock = createFastClock(40)
  const requests = {
    approve: async () => 'it is a node',
    sign: async () => ({ problem: 'it is a test' }),
  }
  const identity = { ca: 'the CA', sign: (payload: JsonObject) => sign(payload, api.key), requests }
  startControlPlane(api.socketPath, { clock, identity, wrap: conflictingAtFirst })
  await countBudgets(api)
  await schedulePod(api)
  await serveWeb(api)
  await withdrawDisruption(api)
  await mirrorEndpoints(api)
  await requestAddresses(api)
  await collectOrphans(api)
  await collectGarbage(api)
  await changeIdentity(api)
  await certifyNode(api)
  await daemonSetLife(api)
  await statefulSetLife(api)
  await jobLife(api)
  await deleteNamespace(api)
  await rollOut(api)
  await silenceNode(api)
  await repairNode(api)
  expect(refused).toEqual([])
  for (const account of controlPlaneAccounts) {
    const name = `system:controller:${account}`
    const unused = unusedPermissions(rulesOf(account), used.get(name) ?? new Set())
    const isOfReader = (one: Permission) =>
      account === READER_ACCOUNT && WITHOUT_WATCH_LIST.has(one)
    const known = OF_KUBERNETES[account] ?? []
    expect
      .soft([account, ...unused.filter((one) => !isOfReader(one)).toSorted()])
      .toEqual([account, ...known.flatMap(eachPermission).toSorted()])
  }
})

test('the reader may follow exactly what the controllers watch', () => {
  const requests = { approve: async () => undefined, sign: async () => ({ problem: '' }) }
  const identity = { ca: 'the CA', sign: () => Promise.resolve(''), requests }
  const watched = new Set(
    knownControllers({ loadBalancer: plainPools('192.0.2.1') }, identity).flatMap(({ watches }) =>
      Object.keys(watches),
    ),
  )
  const wanted = COLLECTION_NAMES.filter((name) => watched.has(name)).map(qualifiedName)
  expect(unusedPermissions(rulesOf(READER_ACCOUNT), new Set()).toSorted()).toEqual(
    eachPermission(`list,watch ${wanted.join()}`).toSorted(),
  )
})

function rulesOf(account: string): readonly RoleRule[] {
  return componentRoles.find(({ name }) => name === `system:controller:${account}`)?.rules ?? []
}

/** With its group: `apps/deployments`, `/pods`. */
function qualifiedName(collection: CollectionName): string {
  const [, , group = ''] = COLLECTION_ROUTES[collection].root.split('/')
  return `${group === 'v1' ? '' : group}/${collection}`
}

/** `get,list /pods,/nodes`: each verb with each resource. */
function eachPermission(text: string): readonly Permission[] {
  const [verbs = '', resources = ''] = text.split(' ')
  return verbs.split(',').flatMap((verb) => resources.split(',').map((one) => `${verb} ${one}`))
}

/** The first write of each collection meets a conflict, after which its controller reads the object again. */
function conflictingAtFirst(writer: ObjectWriter): ObjectWriter {
  const seen = new Set<string>()
  return {
    read: (...parts) => writer.read(...parts),
    async write(write) {
      if (write.verb === 'record' || seen.has(write.collection)) return writer.write(write)
      if (write.verb === 'create' && write.name === '') return writer.write(write)
      seen.add(write.collection)
      if (write.verb === 'create') await writer.write(write)
      else return writer.write({ ...write, meta: { ...write.meta, version: '1' } })
      return writer.write(write)
    },
  }
}

/** Endpoints and slices of a Service: made, changed and deleted; and a report on hints. */
async function serveWeb(api: SecuredApi): Promise<void> {
  await api.make(NODES, { metadata: { name: 'node-a' } })
  await makePod(api, 1, { spec: { nodeName: 'node-a' } })
  await makePod(api, 2, { spec: { nodeName: 'node-a' } })
  const annotations = { 'service.orch.io/topology-mode': 'Auto' }
  await api.make(SERVICES, service('web', { selector: { app: 'web' } }, { annotations }))
  await expectSoon(api, ENDPOINTS, endpoints('10.1.0.1,10.1.0.2'))
  await expectSoon(api, SLICES, sliced('10.1.0.1', '10.1.0.2'))
  await setPod(api, 2, false)
  await expectSoon(api, ENDPOINTS, endpoints('10.1.0.1', '10.1.0.2'))
  await reported(api, 'TopologyAwareHintsDisabled')
  await api.call('DELETE', `${SERVICES}/web`)
  await expectGone(api, `${ENDPOINTS}/web`)
  await expectSoon(api, SLICES, (items) => items.length === 0)
}

/** A Pod that fits nowhere at first. */
async function schedulePod(api: SecuredApi): Promise<void> {
  await api.make(PODS, { metadata: { name: 'waits' }, spec: POD })
  await reported(api, 'FailedScheduling')
  await api.make(NODES, { metadata: { name: 'node-b' } })
  const status = { allocatable: { pods: '1' }, conditions: [readyCondition(true)] }
  await api.call('PATCH', `${NODES}/node-b/status`, { body: { status }, headers: MERGE })
  await reported(api, 'Scheduled')
  await expectSoon(api, PODS, (items) =>
    items.some((one) => stringAt(one, 'spec', 'nodeName') === 'node-b'),
  )
}

async function countBudgets(api: SecuredApi): Promise<void> {
  const spec = { minAvailable: 1, selector: { matchLabels: { app: 'web' } } }
  await api.make(BUDGETS, { metadata: { name: 'web' }, spec })
  await expectSoon(
    api,
    BUDGETS,
    ([budget]) => valueAt(budget, 'status', 'observedGeneration') === 1,
  )
}

/** A Pod that was announced to be deleted long ago. */
async function withdrawDisruption(api: SecuredApi): Promise<void> {
  await api.make(PODS, { metadata: { name: 'stays' }, spec: { ...POD, nodeName: 'node-a' } })
  const conditions = [{ type: 'DisruptionTarget', status: 'True' }]
  await api.call('PATCH', `${PODS}/stays/status`, {
    body: { status: { conditions } },
    headers: MERGE,
  })
  await expectSoon(api, PODS, (items) =>
    items.some((pod) => conditionOf(pod, 'DisruptionTarget')['status'] === 'False'),
  )
  await api.call('DELETE', `${PODS}/stays?gracePeriodSeconds=0`)
}

async function mirrorEndpoints(api: SecuredApi): Promise<void> {
  const subsets = (ip: string) => [{ addresses: [{ ip }], ports: [{ port: 80 }] }]
  // The clock is ahead of the time of creation, so that Endpoints without a Service are old at once.
  await api.make(SERVICES, service('hand'))
  await api.make(ENDPOINTS, { metadata: { name: 'hand' }, subsets: subsets('192.0.2.7') })
  await expectSoon(api, SLICES, sliced('192.0.2.7'))
  const body = { subsets: subsets('192.0.2.8') }
  await api.call('PATCH', `${ENDPOINTS}/hand`, { body, headers: MERGE })
  await expectSoon(api, SLICES, sliced('192.0.2.8'))
  await api.call('DELETE', `${SERVICES}/hand`)
  await expectSoon(api, SLICES, (items) => items.length === 0)
}

async function requestAddresses(api: SecuredApi): Promise<void> {
  await api.make(SERVICES, service('a', { type: 'LoadBalancer' }))
  await api.make(SERVICES, service('b', { type: 'LoadBalancer' }))
  await expectSoon(api, EVENTS, (items) =>
    items.some((one) => stringAt(one, 'source', 'component').startsWith('loadbalancer')),
  )
}

/** Pods whose Node is gone. */
async function collectOrphans(api: SecuredApi): Promise<void> {
  await api.make(PODS, { metadata: { name: 'lost' }, spec: { ...POD, nodeName: 'gone' } })
  await expectGone(api, `${PODS}/lost`)
}

/** Dependents of owners that are gone, that are deleted without them, and that are in another namespace. */
async function collectGarbage(api: SecuredApi): Promise<void> {
  const owner = async (name: string) => {
    const made = await api.make(CONFIG_MAPS, { metadata: { name } })
    return { apiVersion: 'v1', kind: 'ConfigMap', name, uid: stringAt(made, 'metadata', 'uid') }
  }
  const kept = { metadata: { name: 'kept', ownerReferences: [await owner('parent')] } }
  await api.make(CONFIG_MAPS, kept)
  await api.call('DELETE', `${CONFIG_MAPS}/parent?propagationPolicy=Orphan`)
  await expectGone(api, `${CONFIG_MAPS}/parent`)
  await api.make(NAMESPACES, { metadata: { name: 'other' } })
  const ownerReferences = [await owner('far')]
  await api.make(`${NAMESPACES}/other/secrets`, { metadata: { name: 'near', ownerReferences } })
  await expectGone(api, `${NAMESPACES}/other/secrets/near`)
  await expectSoon(api, `${NAMESPACES}/other/events`, (items) => items.length > 0)
}

/** Certificates, accounts, tokens and aggregated roles. */
async function changeIdentity(api: SecuredApi): Promise<void> {
  const map = `${CONFIG_MAPS}/kube-root-ca.crt`
  const hasTheCa = (items: readonly JsonObject[]) =>
    items.some((one) => stringAt(one, 'data', 'ca.crt') === 'the CA')
  for (const immutable of [false, true]) {
    const body = { data: { 'ca.crt': 'mine' }, immutable }
    await api.call('PATCH', map, { body, headers: MERGE })
    await expectSoon(api, CONFIG_MAPS, hasTheCa)
  }
  await api.make(`${SHOP}/serviceaccounts`, { metadata: { name: 'builder' } })
  const metadata = { name: 'token', annotations: { 'orch.io/service-account.name': 'builder' } }
  await api.make(`${SHOP}/secrets`, { metadata, type: 'orch.io/service-account-token' })
  await expectSoon(api, `${SHOP}/secrets`, ([secret]) => stringAt(secret, 'data', 'token') !== '')
  await api.call('DELETE', `${SHOP}/serviceaccounts/builder`)
  await expectGone(api, `${SHOP}/secrets/token`)
  const labels = { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' }
  const rules = [{ verbs: ['get'], apiGroups: ['example.com'], resources: ['widgets'] }]
  await api.make(ROLES, { metadata: { name: 'widgets', labels }, rules })
  await expectSoon(api, ROLES, (items) =>
    items.some(
      (one) =>
        stringAt(one, 'metadata', 'name') === 'view' &&
        JSON.stringify(valueAt(one, 'rules')).includes('widgets'),
    ),
  )
}

/** A request of a kubelet that is approved and then cannot be signed. */
async function certifyNode(api: SecuredApi): Promise<void> {
  const pem = '-----BEGIN CERTIFICATE REQUEST-----\nMAA=\n-----END CERTIFICATE REQUEST-----'
  const spec = {
    request: Buffer.from(pem).toString('base64'),
    signerName: 'kubernetes.io/kubelet-serving',
    usages: ['server auth'],
  }
  await api.make(REQUESTS, { metadata: { name: 'node-a' }, spec })
  await expectSoon(api, REQUESTS, ([request]) =>
    ['Approved', 'Failed'].every(
      (type) => stringAt(conditionOf(request, type), 'status') === 'True',
    ),
  )
}

async function deleteNamespace(api: SecuredApi): Promise<void> {
  const spec = { ...POD, nodeName: 'node-a' }
  await api.make(`${NAMESPACES}/other/pods`, { metadata: { name: 'busy' }, spec })
  await api.make(`${NAMESPACES}/other/configmaps`, { metadata: { name: 'settings' } })
  await api.call('DELETE', `${NAMESPACES}/other`)
  await expectSoon(api, NAMESPACES, (items) =>
    items.some((one) => arrayAt(one, 'status', 'conditions').length > 0),
  )
  await api.call('DELETE', `${NAMESPACES}/other/pods/busy?gracePeriodSeconds=0`)
  await expectGone(api, `${NAMESPACES}/other`)
}

/** Two templates of a Deployment that keeps no old ReplicaSet, and a Pod that one of these adopts. */
async function rollOut(api: SecuredApi): Promise<void> {
  const labels = { app: 'rolled' }
  await api.make(PODS, { metadata: { name: 'orphan', labels }, spec: POD })
  const template = { metadata: { labels }, spec: POD }
  const spec = { replicas: 1, selector: { matchLabels: labels }, template }
  await api.make(`${APPS}/replicasets`, { metadata: { name: 'early', labels }, spec })
  await expectSoon(api, `${APPS}/replicasets`, ([set]) => valueAt(set, 'status', 'replicas') === 1)
  const strategy = { type: 'Recreate' }
  const changed = { ...template, spec: { ...POD, hostNetwork: true } }
  const metadata = { name: 'rolled' }
  const later = { ...spec, template: changed, strategy, revisionHistoryLimit: 0 }
  await api.make(`${APPS}/deployments`, { metadata, spec: later })
  await expectSoon(api, `${APPS}/replicasets`, (items) =>
    items.some((set) => stringAt(set, 'metadata', 'name').startsWith('rolled-')),
  )
  const serve = async (): Promise<void> => {
    const { body } = await api.call('GET', PODS)
    const pods = arrayAt(body, 'items').filter(
      (one) => stringAt(one, 'metadata', 'labels', 'app') === 'rolled',
    )
    const status = { conditions: [readyCondition(true)] }
    for (const pod of pods) {
      const path = `${PODS}/${stringAt(pod, 'metadata', 'name')}/status`
      await api.call('PATCH', path, { body: { status }, headers: MERGE })
    }
  }
  while ((await api.call('GET', `${APPS}/replicasets/early`)).status !== 404) await serve()
}

async function silenceNode(api: SecuredApi): Promise<void> {
  const spec = { holderIdentity: 'node-a', renewTime: '2026-01-01T00:00:00.000000Z' }
  await api.make(LEASES, { metadata: { name: 'node-a' }, spec })
  const body = { status: { conditions: [readyCondition(true)] } }
  await api.call('PATCH', `${NODES}/node-a/status`, { body, headers: MERGE })
  await reported(api, 'NodeNotReady')
  await expectSoon(api, PODS, (items) =>
    items.some(
      (one) =>
        stringAt(one, 'metadata', 'name') === 'web-1' &&
        stringAt(conditionOf(one, 'Ready'), 'status') === 'False',
    ),
  )
}

/** A taint by which the Pods of a node are deleted. */
async function repairNode(api: SecuredApi): Promise<void> {
  const { body: node } = await api.call('GET', `${NODES}/node-a`)
  const taints = [...arrayAt(node, 'spec', 'taints'), { key: 'repair', effect: 'NoExecute' }]
  await api.call('PATCH', `${NODES}/node-a`, { body: { spec: { taints } }, headers: MERGE })
  await reported(api, 'TaintManagerEviction')
}

async function reported(api: SecuredApi, reason: string): Promise<void> {
  await expectSoon(api, EVENTS, (items) => items.some((one) => stringAt(one, 'reason') === reason))
}
