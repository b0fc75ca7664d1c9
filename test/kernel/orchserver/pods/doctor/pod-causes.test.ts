import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { arrayAt, type JsonObject, stringAt, valueAt } from '../../../../../src/lib/json.ts'
import { signedToken } from '../../../../support/doctor/signed-token.ts'
import { launcherOf } from '../../../../support/programs.ts'
import { type PodCluster, startPodCluster } from '../pod-cluster.ts'
import { type FoundCause, openPodShop, type PodShop } from './pod-shop.ts'

const NODE_PROXY = launcherOf('node-proxy')
const DNS = '10.96.0.53'
const FOLDER = '/var/run/secrets/kubernetes.io/serviceaccount'
const LISTED = '/api/v1/namespaces/shop/pods'
const RBAC = '/apis/rbac.authorization.k8s.io/v1/namespaces/shop'
const DISCOVERY = '/apis/discovery.k8s.io/v1/namespaces/shop'

let cluster: PodCluster
let shop: PodShop

beforeAll(async () => {
  const flags = [`--cluster-dns=${DNS}`, '--load-balancer-pool=192.0.2.200/32']
  cluster = await startPodCluster(flags, { flags: ['--proxy-mode=iptables'], isRead: true })
  // Without a route the kernel sends nothing that a rule could redirect; most machines have a default one.
  await cluster.node.ip(['route add 10.96.0.0/16 dev uplink'])
  shop = await openPodShop(cluster, 'shop')
  for (const name of ['reader', 'short']) {
    await cluster.make(`${shop.core}/serviceaccounts`, { metadata: { name } })
  }
})

afterAll(() => cluster.close())

/** A Pod that requests the API with what is mounted as its token. @returns the status of the answer */
async function requested(name: string, spec: JsonObject = {}): Promise<unknown> {
  const address = await cluster.runPod('shop', name, spec)
  return (await cluster.fromPod(address, LISTED))['status']
}

/** A container like that of `runPod`, with a volume where clients look for their token. */
async function mountedAt(name: string): Promise<JsonObject> {
  const pod = await cluster.api.get(`${LISTED}/${name}`)
  const [main] = arrayAt(pod.ok ? (pod.value as JsonObject) : {}, 'spec', 'containers')
  return {
    name: 'main',
    image: 'none',
    command: valueAt(main, 'command') ?? [],
    readinessProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1 },
    volumeMounts: [{ name: 'own', mountPath: FOLDER }],
  }
}

/** Connects to port 80 of an address so many times, one after the other. */
const CONNECTS = `const [address, count] = process.argv.slice(1)
let left = Number(count)
const next = () => left-- > 0 && require('node:net').connect(80, address).on('connect', function () {
  this.destroy()
}).on('close', next)
next()`

const ROOT_CA = { configMap: { name: 'kube-root-ca.crt' } }

test('an account without a role: the Pod gets 403, and the smallest role is named', async () => {
  expect(await requested('reader', { serviceAccountName: 'reader' })).toBe(403)
  const rules = [{ apiGroups: [''], resources: ['pods'], verbs: ['get', 'list'] }]
  await cluster.make(`${RBAC}/roles`, { metadata: { name: 'pod-reader' }, rules })
  const [first] = await shop.doctor(['pod/reader', '--can', 'get', 'pods'])
  expect(first).toMatchObject({ check: 'access-refused', object: 'serviceaccount/shop/reader' })
  expect(first!.cause).toContain('may not get pods')
  expect(first!.evidence.join('\n')).toContain('it is permitted by Role pod-reader')
  const command = first!.commands.find((one) => one.includes('create rolebinding'))!
  await shop.orchctl(command.split(' ').slice(1))
  expect(await shop.doctor(['pod/reader', '--can', 'get', 'pods'])).toEqual([])
  const { value } = (await cluster.api.get(`${LISTED}/reader`)) as { readonly value: JsonObject }
  const answer = await cluster.fromPod(stringAt(value, 'status', 'podIP'), LISTED)
  expect(answer['status']).toBe(200)
})

test('a token for another audience: the Pod gets 401, its objects and its token say why', async () => {
  const sources = [{ serviceAccountToken: { path: 'token', audience: 'vault' } }, ROOT_CA]
  const volumes = [{ name: 'own', projected: { sources } }]
  const containers = [await mountedAt('reader')]
  expect(await requested('vault', { containers, volumes })).toBe(401)
  const [first] = await shop.doctor([])
  expect(first).toMatchObject({ check: 'api-token', object: 'pod/shop/vault' })
  expect(first!.cause).toContain('is for "vault", and is rejected')
  const token = await shop.orchctl(['exec', 'vault', '--', 'cat', `${FOLDER}/token`])
  const [judged] = await shop.doctor(['--token-file', '-'], token)
  expect(judged).toMatchObject({ check: 'token-audience', object: 'serviceaccount/shop/default' })
  expect(JSON.stringify([first, judged])).not.toContain(token.trim())
  await cluster.api.remove(`${LISTED}/vault`, {})
})

test('a token that has expired in the Pod: 401, and since when', async () => {
  const key = await readFile(`${cluster.dataDir}/pki/sa.key`, 'utf8')
  const account = await cluster.api.get(`${shop.core}/serviceaccounts/default`)
  const uid = stringAt(account.ok ? (account.value as JsonObject) : {}, 'metadata', 'uid')
  const claims = { namespace: 'shop', account: { name: 'default', uid } }
  const token = await signedToken({ key, claims, aheadMs: -7_200_000 })
  await cluster.make(`${shop.core}/secrets`, { metadata: { name: 'old' }, stringData: { token } })
  const volumes = [{ name: 'own', projected: { sources: [{ secret: { name: 'old' } }, ROOT_CA] } }]
  expect(await requested('old', { containers: [await mountedAt('reader')], volumes })).toBe(401)
  const mounted = await shop.orchctl(['exec', 'old', '--', 'cat', `${FOLDER}/token`])
  const [judged] = await shop.doctor(['--token-file', '-'], mounted)
  expect(judged).toMatchObject({ check: 'token-expired', object: 'serviceaccount/shop/default' })
  expect(judged!.cause).toMatch(/^the token expired at 2.*Z$/)
})

test('an account that is not there: its Pods are refused, so that the Deployment has none', async () => {
  const spec = { serviceAccountName: 'gone', containers: [{ name: 'main', image: 'none' }] }
  const refused = await cluster.api.create(LISTED, { metadata: { name: 'gone' }, spec })
  expect(refused).toMatchObject({ ok: false, failure: { code: 403 } })
  expect(JSON.stringify(refused)).toContain('serviceaccount \\"gone\\" not found')
  const labels = { app: 'gone' }
  await cluster.make('/apis/apps/v1/namespaces/shop/deployments', {
    metadata: { name: 'gone' },
    spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
  })
  const [first] = await shop.doctor([])
  expect(first).toMatchObject({ check: 'missing-account', object: 'serviceaccount/shop/gone' })
  expect(first!.evidence).toEqual(['deployment/gone cannot create Pods: they would run as it'])
  await cluster.api.remove('/apis/apps/v1/namespaces/shop/deployments/gone', {})
})

test('an account that was deleted under its Pod: 401', async () => {
  const address = await cluster.runPod('shop', 'short', { serviceAccountName: 'short' })
  await cluster.api.remove(`${shop.core}/serviceaccounts/short`, {})
  await expect.poll(async () => (await cluster.fromPod(address, LISTED))['status']).toBe(401)
  const [first] = await shop.doctor(['pod/short'])
  expect(first).toMatchObject({ check: 'missing-account', object: 'serviceaccount/shop/short' })
  await cluster.api.remove(`${LISTED}/short`, {})
})

test('internalTrafficPolicy Local without an endpoint on the node: a Pod of it is refused', async () => {
  const made = await shop.service('local', { selector: null, internalTrafficPolicy: 'Local' })
  const address = await cluster.runPod('shop', 'client')
  await cluster.make(`${DISCOVERY}/endpointslices`, {
    metadata: { name: 'local', labels: { 'kubernetes.io/service-name': 'local' } },
    addressType: 'IPv4',
    ports: [{ name: 'web', port: 8080 }],
    endpoints: [{ addresses: [address], nodeName: 'node-b' }],
  })
  const target = `${stringAt(made, 'spec', 'clusterIP')}:80`
  const outcome = () => cluster.fromPod(address, `/connect/${target}`)
  await expect.poll(outcome).not.toEqual({ outcome: 'connected' })
  const [first] = await shop.doctor(['service/local'])
  expect(first).toMatchObject({ check: 'local-policy', object: 'service/shop/local' })
  expect(first!.cause).toContain('internalTrafficPolicy is Local: on node-a')
  // The same packets reach the endpoint when every endpoint may be used.
  const change = { spec: { internalTrafficPolicy: 'Cluster' } }
  const type = 'application/merge-patch+json'
  await cluster.api.patch(`${shop.core}/services/local`, change, { type })
  await expect.poll(outcome).toEqual({ outcome: 'connected' })
  expect(await shop.doctor(['service/local'])).toEqual([])
})

test('session affinity of few clients: the counters of the node show it', async () => {
  const [one] = await Promise.all(
    ['sticky-1', 'sticky-2'].map((name) => cluster.runPod('shop', name, {}, { app: 'sticky' })),
  )
  const spec = { selector: { app: 'sticky' }, sessionAffinity: 'ClientIP' }
  const made = await shop.service('sticky', spec)
  const target = stringAt(made, 'spec', 'clusterIP')
  // All of one client.
  await expect
    .poll(async () => (await cluster.fromPod(one!, `/connect/${target}:80`))['outcome'])
    .toBe('connected')
  await cluster.node.exec([process.execPath, '-e', CONNECTS, target, '120'])
  const [first] = await shop.doctor(['service/sticky', '--nodes'])
  expect(first).toMatchObject({ check: 'session-affinity', object: 'service/shop/sticky' })
  expect(first!.evidence[0]).toMatch(
    /^on node-a, 10\.77\.0\.\d+:8080 got 12[01] of 12[01] connections$/,
  )
})

test('a targetPort at which nothing listens, though no object says so', async () => {
  await cluster.runPod('shop', 'mute', {}, { app: 'mute' })
  const ports = [{ name: 'web', port: 80, targetPort: 9090 }]
  const made = await shop.service('mute', { selector: { app: 'mute' }, ports })
  const client = await cluster.runPod('shop', 'caller')
  const path = `/connect/${stringAt(made, 'spec', 'clusterIP')}:80`
  await expect.poll(() => cluster.fromPod(client, path)).toEqual({ outcome: 'ECONNREFUSED' })
  expect(await shop.doctor(['service/mute'])).toEqual([])
  const words = ['doctor', '--connect', `--socket=${cluster.inspectionSocket}`, '-o', 'json']
  // It ends with 1, for what it finds.
  const script = '"$@" || test $? = 1'
  const found = await cluster.node.exec(['sh', '-c', script, 'sh', NODE_PROXY, ...words])
  const findings = JSON.parse(found) as readonly FoundCause[]
  const first = findings.find(({ check }) => check === 'backend-refuses')
  expect(first).toMatchObject({ check: 'backend-refuses', object: 'node/node-a' })
  expect(first!.cause).toContain('refuse connections at port 9090: nothing listens there')
})

test('a pool of load balancers without an address left', async () => {
  await shop.service('first', { type: 'LoadBalancer', selector: null })
  const hasAddress = (one: JsonObject) =>
    valueAt(one, 'status', 'loadBalancer', 'ingress') !== undefined
  await shop.until('services', hasAddress)
  await shop.service('second', { type: 'LoadBalancer', selector: null })
  const isReported = (one: JsonObject) =>
    arrayAt(one, 'status', 'conditions').some((two) => stringAt(two, 'reason') === 'PoolExhausted')
  await shop.until('services', isReported)
  const found = await shop.doctor(['service/second'])
  const pending = found.find(({ check }) => check === 'load-balancer-pending')!
  expect(pending.cause).toBe('it is of type LoadBalancer, and no pool has an address left for it')
  expect(pending.evidence).toEqual([
    expect.stringContaining('No IPv4 address is left in the pools of the Service'),
  ])
})

test('a Pod with the resolver of its node does not find Services', async () => {
  const address = await cluster.runPod('shop', 'plain', { dnsPolicy: 'Default' })
  const answer = await cluster.fromPod(address, '/getent/kubernetes.default.svc')
  expect(answer).toEqual({ addresses: [] })
  const { text } = await cluster.fromPod(address, '/resolv.conf')
  expect(text).not.toContain(DNS)
  const [first] = await shop.doctor(['pod/plain'])
  expect(first).toMatchObject({ check: 'pod-dns', object: 'pod/shop/plain' })
})

test('a DNS of the cluster without endpoints: no name resolves, and it comes before all else', async () => {
  const ports = [{ name: 'dns', port: 53, protocol: 'UDP' }]
  await cluster.make('/api/v1/namespaces/kube-system/services', {
    metadata: { name: 'cluster-dns' },
    spec: { clusterIP: DNS, selector: { app: 'dns' }, ports },
  })
  const address = await cluster.runPod('shop', 'resolving')
  const { text } = await cluster.fromPod(address, '/resolv.conf')
  expect(text).toContain(`nameserver ${DNS}\n`)
  const answer = await cluster.fromPod(address, '/getent/kubernetes.default.svc')
  expect(answer).toEqual({ addresses: [] })
  const [first] = await shop.doctor(['pod/resolving'])
  expect(first).toMatchObject({
    check: 'cluster-dns',
    object: 'service/kube-system/cluster-dns',
  })
})
