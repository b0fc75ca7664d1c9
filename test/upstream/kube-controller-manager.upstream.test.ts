import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  AuthenticationV1Api,
  CoreV1Api,
  DiscoveryV1Api,
  KubeConfig,
  RbacAuthorizationV1Api,
  type V1ConfigMap,
} from '@kubernetes/client-node'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type AuditedUsers, auditUsers } from '../support/lab/audited-users.ts'
import { upstreamProgram } from '../support/lab/upstream-program.ts'
import {
  type OrchServerProcess,
  startOrchServer,
} from '../support/orchserver/orch-server-process.ts'
import { runOrchServerCommand } from '../support/orchserver/run-command.ts'

const MANAGER = 'system:kube-controller-manager'
/** What kube-controller-manager does here in place of ours: names of its controllers. */
const THEIRS = [
  'endpoint',
  'endpointslice',
  'endpointslicemirroring',
  'namespace',
  'garbagecollector',
  'serviceaccount',
  'serviceaccount-token',
  'root-ca-cert-publisher',
  'clusterrole-aggregation',
  'podgc',
]
/** Their accounts in kube-system, without those that only the program itself acts for. */
const ACCOUNTS = [
  'clusterrole-aggregation-controller',
  'endpoint-controller',
  'endpointslice-controller',
  'endpointslicemirroring-controller',
  'generic-garbage-collector',
  'namespace-controller',
  'pod-garbage-collector',
  'root-ca-cert-publisher',
  'service-account-controller',
]
const accountUser = (name: string): string => `system:serviceaccount:kube-system:${name}`
const SOON = { interval: 50 }
const HERE = { namespace: 'team' }

let folder: string
let users: AuditedUsers
let server: OrchServerProcess
let manager: ChildProcess
let core: CoreV1Api
let discovery: DiscoveryV1Api
let rbac: RbacAuthorizationV1Api

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'np-upstream-'))
  users = auditUsers(folder)
  server = await startOrchServer({ flags: ['--controllers=', ...users.flags] })
  manager = await startManager(server)
  const config = new KubeConfig()
  config.loadFromFile(server.kubeconfig)
  core = config.makeApiClient(CoreV1Api)
  discovery = config.makeApiClient(DiscoveryV1Api)
  rbac = config.makeApiClient(RbacAuthorizationV1Api)
  await core.createNode({ body: { metadata: { name: 'node' } } })
  await core.createNamespace({ body: { metadata: { name: HERE.namespace } } })
})
afterAll(async () => {
  if (manager?.exitCode === null) {
    manager.kill('SIGKILL')
    await once(manager, 'exit')
  }
  await server?.[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true })
})

/**
 * With protobuf, as it comes; it serves nothing itself. It is its own user, by a certificate, and each of
 * its controllers is an account, with a token that it requests for it.
 */
async function startManager({ dataDir }: OrchServerProcess): Promise<ChildProcess> {
  const kubeconfig = join(folder, 'kube-controller-manager.kubeconfig')
  const place = [`--data-dir=${dataDir}`, `--output=${kubeconfig}`]
  await runOrchServerCommand('kubeconfig', `--user=${MANAGER}`, ...place)
  const flags = [
    `--kubeconfig=${kubeconfig}`,
    `--controllers=${THEIRS.join()}`,
    '--use-service-account-credentials',
    '--port=0',
    '--secure-port=0',
    `--service-account-private-key-file=${dataDir}/pki/sa.key`,
    `--root-ca-file=${dataDir}/pki/ca.crt`,
    '--leader-elect-resource-lock=leases',
  ]
  return spawn(upstreamProgram('kube-controller-manager'), flags, { stdio: 'ignore' })
}

/** Creates a Pod, and reports it ready as a kubelet would. */
async function createReadyPod(name: string, ip: string): Promise<void> {
  const metadata = { name, labels: { app: 'web' } }
  const spec = { nodeName: 'node', containers: [{ name: 'c', image: 'none' }] }
  const body = await core.createNamespacedPod({ ...HERE, body: { metadata, spec } })
  body.status = {
    phase: 'Running',
    podIP: ip,
    podIPs: [{ ip }],
    conditions: [{ type: 'Ready', status: 'True' }],
  }
  await core.replaceNamespacedPodStatus({ ...HERE, name, body })
}

async function addressesOf(name: string): Promise<(string | undefined)[]> {
  const { subsets = [] } = await core.readNamespacedEndpoints({ ...HERE, name })
  return subsets.flatMap(({ addresses = [] }) => addresses.map(({ ip }) => ip)).sort()
}

async function sliceAddressesOf(name: string): Promise<string[]> {
  const labelSelector = `kubernetes.io/service-name=${name}`
  const { items } = await discovery.listNamespacedEndpointSlice({ ...HERE, labelSelector })
  return items
    .flatMap(({ endpoints = [] }) => endpoints.flatMap(({ addresses }) => addresses))
    .sort()
}

const IPS = ['10.180.2.1', '10.180.2.2']

test('it writes Endpoints and EndpointSlices of a Service, and follows across kill -9', async () => {
  const ports = [{ port: 80 }]
  const body = { metadata: { name: 'web' }, spec: { selector: { app: 'web' }, ports } }
  await core.createNamespacedService({ ...HERE, body })
  await createReadyPod('one', IPS[0]!)
  await expect.poll(() => addressesOf('web').catch(() => []), SOON).toEqual(IPS.slice(0, 1))
  await expect.poll(() => sliceAddressesOf('web'), SOON).toEqual(IPS.slice(0, 1))
  await server.kill()
  await server.start()
  await createReadyPod('two', IPS[1]!)
  await expect.poll(() => addressesOf('web'), SOON).toEqual(IPS)
  await expect.poll(() => sliceAddressesOf('web'), SOON).toEqual(IPS)
})

test('it mirrors Endpoints that a user wrote', async () => {
  await core.createNamespacedService({
    ...HERE,
    body: { metadata: { name: 'hand' }, spec: { ports: [{ port: 80 }] } },
  })
  const subsets = [{ addresses: [{ ip: '192.0.2.7' }], ports: [{ port: 80 }] }]
  await core.createNamespacedEndpoints({ ...HERE, body: { metadata: { name: 'hand' }, subsets } })
  await expect.poll(() => sliceAddressesOf('hand'), SOON).toEqual(['192.0.2.7'])
})

test('it gives a namespace its account, a token and the authority', async () => {
  const account = () => core.readNamespacedServiceAccount({ ...HERE, name: 'default' })
  const tokens = async () => (await account()).secrets?.map(({ name = '' }) => name) ?? []
  const configMaps = async () =>
    (await core.listNamespacedConfigMap(HERE)).items.map(({ metadata }) => metadata?.name)
  await expect.poll(tokens, SOON).toHaveLength(1)
  const [name = ''] = await tokens()
  const { type, data } = await core.readNamespacedSecret({ ...HERE, name })
  expect([type, data]).toMatchObject([
    'kubernetes.io/service-account-token',
    { 'ca.crt': expect.any(String), namespace: btoa(HERE.namespace), token: expect.any(String) },
  ])
  await expect.poll(configMaps, SOON).toContain('kube-root-ca.crt')
})

test('a token that it wrote proves the account to the server', async () => {
  const { items } = await core.listNamespacedSecret(HERE)
  const token = items.find(({ type }) => type === 'kubernetes.io/service-account-token')
  const config = new KubeConfig()
  config.loadFromFile(server.kubeconfig)
  config.addUser({ name: 'account', token: atob(token!.data!['token']!) })
  config.addContext({ name: 'account', cluster: config.clusters[0]!.name, user: 'account' })
  config.setCurrentContext('account')
  const authentication = config.makeApiClient(AuthenticationV1Api)
  const { status } = await authentication.createSelfSubjectReview({ body: {} })
  expect(status?.userInfo?.username).toBe(`system:serviceaccount:${HERE.namespace}:default`)
})

test('it gives aggregated roles the rules of others', async () => {
  const labels = { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' }
  const rules = [{ verbs: ['get'], apiGroups: ['example.com'], resources: ['widgets'] }]
  await rbac.createClusterRole({ body: { metadata: { name: 'widgets', labels }, rules } })
  const rulesOfView = async () => (await rbac.readClusterRole({ name: 'view' })).rules
  await expect.poll(rulesOfView, SOON).toContainEqual(rules[0])
})

test('it collects what a deleted owner leaves, in the foreground', async () => {
  const create = (name: string, more: object = {}): Promise<V1ConfigMap> =>
    core.createNamespacedConfigMap({ ...HERE, body: { metadata: { name, ...more } } })
  const { metadata } = await create('owner')
  const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: metadata!.uid! }
  await create('owned', { ownerReferences: [{ ...owner, blockOwnerDeletion: true }] })
  await core.deleteNamespacedConfigMap({ ...HERE, name: 'owner', propagationPolicy: 'Foreground' })
  const left = async () =>
    (await core.listNamespacedConfigMap(HERE)).items
      .map(({ metadata: { name = '' } = {} }) => name)
      .filter((name) => name.startsWith('own'))
  await expect.poll(left, SOON).toEqual([])
})

test('it deletes a Pod that no node agent will end', async () => {
  const metadata = { name: 'unbound', finalizers: ['example.com/held'] }
  const spec = { containers: [{ name: 'c', image: 'none' }] }
  await core.createNamespacedPod({ ...HERE, body: { metadata, spec } })
  await core.deleteNamespacedPod({ ...HERE, name: 'unbound' })
  const written = () => users.written()[accountUser('pod-garbage-collector')]
  await expect.poll(written, SOON).toEqual(['pods'])
  const body = await core.readNamespacedPod({ ...HERE, name: 'unbound' })
  delete body.metadata!.finalizers
  await core.replaceNamespacedPod({ ...HERE, name: 'unbound', body })
})

/** Pods are gone when their kubelet says so, which is us. */
test('it empties a namespace and lets it go', async () => {
  for (const name of ['one', 'two']) {
    await core.deleteNamespacedPod({ ...HERE, name, gracePeriodSeconds: 0 })
  }
  await core.deleteNamespace({ name: HERE.namespace })
  const read = () =>
    core.readNamespace({ name: HERE.namespace }).then(
      () => 200,
      ({ code }) => code,
    )
  await expect.poll(read, SOON).toBe(404)
})

test('each controller did this as its own account by its own role, and was refused nothing', () => {
  expect(users.refused()).toEqual([])
  expect(users.written()[MANAGER]).toEqual([
    'events',
    'leases',
    'secrets',
    'serviceaccounts',
    'serviceaccounts/token',
  ])
  const roles = Object.entries(users.bindings()).map(([user, bindings]) => [
    user,
    bindings.filter((binding) => binding !== 'system:discovery'),
  ])
  expect(Object.fromEntries(roles)).toEqual({
    'orch-admin': ['a member of the group system:masters'],
    [MANAGER]: [MANAGER],
    [`system:serviceaccount:${HERE.namespace}:default`]: ['system:basic-user'],
    ...Object.fromEntries(
      ACCOUNTS.map((account) => [accountUser(account), [`system:controller:${account}`]]),
    ),
  })
})
