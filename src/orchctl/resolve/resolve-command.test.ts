import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { openScene, type Scene } from '../../dns/testing/dns-scene.ts'
import type { JsonObject } from '../../lib/json.ts'
import { runOrchctl } from '../program.ts'
import { type GoldenApi, openGoldenApi } from './testing/golden-api.ts'

let golden: GoldenApi
let scene: Scene
let home: string

beforeAll(async () => {
  golden = await openGoldenApi()
  scene = await openScene()
  home = mkdtempSync(join(tmpdir(), 'np-resolve-'))
  const pods = '/api/v1/namespaces/shop/pods'
  const pod = (name: string, spec: JsonObject): void =>
    golden.add(pods, { metadata: { namespace: 'shop', name }, spec: { nodeName: 'n1', ...spec } })
  pod('plain', {})
  pod('host', { hostNetwork: true, dnsPolicy: 'ClusterFirst' })
  pod('node', {
    dnsPolicy: 'Default',
    hostAliases: [{ ip: '192.0.2.1', hostnames: ['one', 'two'] }],
  })
  const dnsConfig = {
    nameservers: ['10.96.0.53'],
    searches: ['test.svc.cluster.local'],
    options: [{ name: 'ndots', value: '1' }],
  }
  pod('alone', { dnsPolicy: 'None', dnsConfig })
})
afterAll(async () => {
  await scene.close()
  golden.close()
  rmSync(home, { recursive: true })
})

async function resolve(...args: readonly string[]) {
  let [out, err] = ['', '']
  const code = await runOrchctl(['resolve', ...args, '-n', 'shop', '--server', golden.url], {
    stdin: (async function* () {})(),
    stdout: { write: (text) => (out += text) },
    stderr: { write: (text) => (err += text) },
    env: { HOME: home },
    version: '1',
    signal: new AbortController().signal,
  })
  return { code, out, err }
}

async function resolution(...args: readonly string[]) {
  const { code, out } = await resolve(...args, '-o', 'json')
  return { code, ...(JSON.parse(out) as JsonObject) }
}

test('a short name of a Pod: the resolver, the record with its object, what is not queried', async () => {
  expect(await resolve('web', '--from', 'pod/plain')).toEqual({
    code: 0,
    err: '',
    out: `Pod:           shop/plain on node n1
DNS policy:    ClusterFirst
Nameservers:   that of the cluster
Search:        shop.svc.cluster.local svc.cluster.local cluster.local
Options:       ndots:5
Note:          the search list goes on with that of the node, which the API does not show

web.shop.svc.cluster.local.
  A      10.96.0.10   Service shop/web spec.clusterIPs[0]
  AAAA   NODATA       Service shop/web has no IPv6 address; it has 10.96.0.10
web.svc.cluster.local.   not queried
web.cluster.local.   not queried
web.   not queried

web resolves, as web.shop.svc.cluster.local.
  Service shop/web has no ready endpoint: the name resolves, connections fail
`,
  })
})

test('a name without records: each candidate with its reason, and where the Service is', async () => {
  const { code, out } = await resolve('kubernetes')
  expect(code).toBe(1)
  const names = out.slice(out.indexOf('\nkubernetes.shop'))
  expect(names).toMatch(
    /^\nkubernetes\.shop\.svc\.cluster\.local\.\n {2}A AAAA +NXDOMAIN +there is no/,
  )
  expect(names).toMatch(
    /\nkubernetes\.svc.*\n {2}A AAAA +NXDOMAIN +there is no namespace kubernetes/,
  )
  expect(names).toMatch(/\nkubernetes\.\n {2}A AAAA +FORWARDED +outside of cluster\.local: /)
  expect(names).toMatch(
    /\nkubernetes does not resolve in the cluster; .*\n {2}there is a Service kubernetes: its name is kubernetes\.default\n$/,
  )
})

test('a Pod with a search list of its own finds another Service', async () => {
  expect(await resolution('web', '--from', 'alone')).toMatchObject({
    resolver: { servers: 'pod', nameservers: ['10.96.0.53'], options: ['ndots:1'] },
    candidates: [{ name: 'web.test.svc.cluster.local' }, { name: 'web', queried: true }],
    // Whether 10.96.0.53 knows the cluster is not in the API.
    code: 1,
    resolved: '',
  })
  golden.add('/api/v1/namespaces/kube-system/services', {
    metadata: { namespace: 'kube-system', name: 'cluster-dns' },
    spec: { clusterIP: '10.96.0.53' },
  })
  expect(await resolution('web', '--from', 'alone')).toMatchObject({
    code: 0,
    resolved: 'web.test.svc.cluster.local',
    resolver: { servers: 'cluster' },
  })
  expect((await resolve('web')).out).toContain('Nameservers:   10.96.0.53\n')
})

test.each([
  ['node', ['web']],
  ['host', ['web']],
])(
  'a Pod that resolves as its node does (%s): its search list is not known',
  async (pod, names) => {
    const found = await resolution('web', '--from', pod)
    expect(found).toMatchObject({ code: 1, resolver: { servers: 'node', nameservers: [] } })
    expect((found as JsonObject)['candidates']).toMatchObject(names.map((name) => ({ name })))
    const notes = (await resolve('web', '--from', pod)).out
    expect(notes.includes('ClusterFirstWithHostNet')).toBe(pod === 'host')
    expect(notes.includes('by hostAliases it has one, two\n')).toBe(pod === 'node')
  },
)

test('an alias that leaves the cluster, and one through it', async () => {
  const { code, out } = await resolve('outside')
  expect(code).toBe(0)
  expect(out).toMatch(/CNAME +db\.example\.com +Service shop\/outside spec\.externalName/)
  expect((await resolve('alias', '--type', 'a')).out).toMatch(
    /A +10\.96\.0\.10 +web\.shop\.svc\.cluster\.local: Service shop\/web spec\.clusterIPs\[0\]/,
  )
})

test('what the caller may not read is not known; what they may is answered', async () => {
  golden.forbidden.add('/api/v1/namespaces/test/services')
  onTestFinished(() => golden.forbidden.clear())
  expect((await resolution('web')).code).toBe(0)
  const found = await resolve('web.test')
  expect(found.code).toBe(1)
  expect(found.out).toMatch(
    /\n {2}A AAAA +UNKNOWN +\/api\/v1\/namespaces\/test\/services is refused\n/,
  )
  expect(found.out).toContain('orchctl auth can-i --list')
})

test('an address: the Services and endpoints that have it', async () => {
  expect((await resolve('10.244.1.10')).out).toMatch(
    /PTR +db-0\.db\.shop\.svc\.cluster\.local +EndpointSlice shop\/db-a endpoints\[0\]/,
  )
})

test('a server that agrees, one that is behind, and none', async () => {
  const server = `127.0.0.1:${scene.port}`
  const same = await resolve('web', '--dns-server', server)
  expect(same.out).toMatch(/A +server: NOERROR +1 records, as it should be\n/)
  golden.add('/api/v1/namespaces/shop/services', {
    metadata: { namespace: 'shop', name: 'fresh' },
    spec: { clusterIP: '10.96.0.99' },
  })
  const behind = await resolve('fresh', '--type=A', '--dns-server', server)
  expect(behind).toMatchObject({ code: 1, err: '' })
  expect(behind.out).toMatch(
    /server: NXDOMAIN +0 records, DIFFERENT: it answers NXDOMAIN, but the objects give NOERROR; it does not have fresh\./,
  )
  const picky = await openScene({ networks: ['10.0.0.0/8'] })
  onTestFinished(() => picky.close())
  const refused = await resolve('web', '--dns-server', `127.0.0.1:${picky.port}`)
  expect(refused).toMatchObject({ code: 1, out: expect.stringMatching(/--dns-client-networks/) })
  const none = await resolve('web', '--dns-server', '127.0.0.1:1')
  expect(none).toMatchObject({ code: 1, out: expect.stringMatching(/no reply: unreachable/) })
})

test.each([
  [['web', '--type', 'AAA'], /did you mean A/],
  [['web', '-o', 'yaml'], /write json/],
  [['web', '--dns-server', 'dns.example'], /ADDRESS:PORT/],
  [['web', '--from', 'services/web'], /is no Pod/],
  [['web', 'db'], /more than one name|too many/],
])('%j is wrong usage', async (args, message) => {
  expect(await resolve(...args)).toMatchObject({ code: 2, err: expect.stringMatching(message) })
})
