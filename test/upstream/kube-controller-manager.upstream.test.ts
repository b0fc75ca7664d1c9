import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { CoreV1Api, DiscoveryV1Api, KubeConfig, type V1ConfigMap } from '@kubernetes/client-node'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newSigningKey } from '../support/lab/signing-key.ts'
import { upstreamProgram } from '../support/lab/upstream-program.ts'
import {
  type OrchServerProcess,
  startOrchServer,
} from '../support/orchserver/orch-server-process.ts'

/** What kube-controller-manager does here in place of ours. */
const THEIRS = [
  ...['endpoint', 'endpointslice', 'endpointslicemirroring', 'namespace', 'garbagecollector'],
  ...['serviceaccount', 'serviceaccount-token', 'root-ca-cert-publisher'],
]
const OURS = ['loadbalancer', 'podreadiness', 'podcollector', 'finishedpods']
const SOON = { timeout: 30_000, interval: 50 }
const HERE = { namespace: 'team' }

let server: OrchServerProcess
let manager: ChildProcess
let core: CoreV1Api
let discovery: DiscoveryV1Api

beforeAll(async () => {
  server = await startOrchServer({ flags: [`--controllers=${OURS.join()}`] })
  manager = startManager(server)
  const config = new KubeConfig()
  config.loadFromFile(server.kubeconfig)
  core = config.makeApiClient(CoreV1Api)
  discovery = config.makeApiClient(DiscoveryV1Api)
  await core.createNode({ body: { metadata: { name: 'node' } } })
  await core.createNamespace({ body: { metadata: { name: HERE.namespace } } })
})
afterAll(async () => {
  if (manager?.exitCode === null) {
    manager.kill('SIGKILL')
    await once(manager, 'exit')
  }
  await server?.[Symbol.asyncDispose]()
})

/** With protobuf, as it comes; it serves nothing itself. */
function startManager({ kubeconfig, dataDir }: OrchServerProcess): ChildProcess {
  const flags = [
    ...[
      `--kubeconfig=${kubeconfig}`,
      `--controllers=${THEIRS.join()}`,
      '--port=0',
      '--secure-port=0',
    ],
    ...[
      `--service-account-private-key-file=${newSigningKey(dataDir)}`,
      `--root-ca-file=${dataDir}/pki/ca.crt`,
    ],
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
