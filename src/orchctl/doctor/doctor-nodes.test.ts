import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { create } from '@bufbuild/protobuf'
import { expect, onTestFinished, test } from 'vitest'
import { newTestAuthority } from '../../../test/support/certificates/test-authority.ts'
import { startCluster } from '../../../test/support/inspection/cluster.ts'
import { startRemoteNode } from '../../../test/support/inspection/remote-node.ts'
import type { IdentityApi } from '../../apiserver/testing/identity-api.ts'
import { certificates } from '../../client/testing/test-certificates.ts'
import type { Finding } from '../../doctor/evidence/finding.ts'
import { healthyDaemon, healthyNode, outcome, walk } from '../../doctor/testing/healthy-node.ts'
import { ServiceTrafficSchema } from '../../inspection/generated/inspection_pb.ts'
import { fakeSource } from '../../inspection/http/testing/source.ts'
import type { InspectionSource } from '../../inspection/inspection-source.ts'
import type { JsonObject } from '../../lib/json.ts'
import { runOrchctl } from '../program.ts'

const FIREWALLED = healthyNode({
  node: 'not its name',
  unread: [{ what: 'other proxies', why: 'no right' }],
  walks: [
    walk({
      outcomes: [
        outcome({ kind: 'silent', where: 'iptables filter FORWARD', rule: '-A FORWARD -j DROP' }),
      ],
    }),
  ],
})

/** The nodes `n1`, which serves these facts, and `n2`, which has no address. */
async function start(facts: unknown, source: Partial<InspectionSource> = {}) {
  const authority = await newTestAuthority('nodes')
  const cluster = await startCluster()
  const words: (readonly string[])[] = []
  const node = await startRemoteNode({
    cluster,
    serving: await authority.server(),
    source: fakeSource(source),
    readDocument: async (command) => {
      words.push(command)
      return { json: JSON.stringify(facts) }
    },
  })
  for (const name of ['n1', 'n2']) await cluster.api.make('/api/v1/nodes', { metadata: { name } })
  await cluster.api.as('root', 'PATCH', '/api/v1/nodes/n1/status', {
    headers: { 'content-type': 'application/merge-patch+json' },
    body: { status: { addresses: [{ type: 'InternalIP', address: '127.0.0.1' }] } },
  })
  const folder = mkdtempSync(join(tmpdir(), 'np-doctor-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const [server, nodes] = [join(folder, 'server.pem'), join(folder, 'nodes.pem')]
  writeFileSync(server, certificates.ca)
  writeFileSync(nodes, authority.cert)
  const flags = [
    '--server',
    cluster.url,
    '--certificate-authority',
    server,
    '--token',
    'reader',
    '--inspection-port',
    String(node.port),
    '--inspection-certificate-authority',
    nodes,
  ]
  return {
    words,
    cluster,
    doctor: (...more: readonly string[]) => orchctl(folder, ['doctor', ...more, ...flags]),
  }
}

async function orchctl(home: string, words: readonly string[]) {
  let [out, err] = ['', '']
  const code = await runOrchctl(words, {
    stdin: (async function* () {})(),
    stdout: { write: (text) => (out += text) },
    stderr: { write: (text) => (err += text) },
    env: { HOME: home },
    version: '1',
    signal: new AbortController().signal,
  })
  return { code, out, err }
}

test('what is wrong on a node, by the name of its Node object; nodes that cannot be read are named', async () => {
  const { doctor, words } = await start(FIREWALLED)
  const { code, out, err } = await doctor('--nodes', '-o', 'json')
  const findings = JSON.parse(out) as readonly Finding[]
  expect(code).toBe(1)
  expect(findings).toMatchObject([
    { check: 'node-firewall', object: 'node/n1', affects: ['service/shop/web'] },
  ])
  expect(words).toMatchObject([['facts', '--output=json', expect.stringMatching(/^--socket=/)]])
  expect(err).toContain('not checked: node n1: other proxies: no right')
  expect(err).toMatch(/not checked: node n2: .*has no InternalIP/)
})

test('without --nodes no node is read', async () => {
  const { doctor, words } = await start(FIREWALLED)
  expect((await doctor()).out).toBe('nothing was found\n')
  expect(words).toEqual([])
})

test('a node that sends something else is not checked', async () => {
  const { doctor } = await start({ format: 2, node: 'n1' })
  const { code, out, err } = await doctor('--nodes')
  expect([code, out]).toEqual([0, 'nothing was found\n'])
  expect(err).toContain('node n1: its node-proxy sends facts of another version')
})

test('policies that a node does not enforce; what may not be read is named', async () => {
  const daemon = healthyDaemon({ policies: 'not enforced: the kernel has no nf_tables' })
  const { doctor, cluster } = await start(healthyNode({ daemon }))
  await cluster.api.make('/apis/networking.k8s.io/v1/namespaces/default/networkpolicies', {
    metadata: { name: 'closed' },
    spec: { podSelector: {} },
  })
  expect((await doctor('--nodes')).err).toMatch(/not checked: clusternetworkpolicies: .*forbidden/)
  const apiGroups = ['networking.k8s.io']
  await mayList(cluster.api, [{ apiGroups, resources: ['networkpolicies'], verbs: ['list'] }])
  expect((await doctor()).out).toBe('nothing was found\n')
  const { out } = await doctor('--nodes', '-o', 'json')
  expect(JSON.parse(out)).toMatchObject([
    {
      check: 'policies-not-enforced',
      object: 'node/n1',
      cause:
        'nothing enforces 1 NetworkPolicies and 0 ClusterNetworkPolicies of the cluster on it: the kernel has no nf_tables',
    },
  ])
})

const ENTRY = 'shop/web:web/TCP/4'

/** A load of 120 connections at the first of two backends, in the last second and before. */
const STICKY = healthyNode({
  loads: [
    {
      entry: ENTRY,
      service: 'shop/web',
      affinitySeconds: 10_800,
      backends: [120, 0].map((connections, index) => ({
        ip: `10.0.0.${index + 1}`,
        port: 8080,
        connections,
        connectionsNow: 0,
      })),
    },
  ],
})

async function makeStickyService({ api }: Awaited<ReturnType<typeof startCluster>>): Promise<void> {
  await mayListServices(api)
  await api.make('/api/v1/namespaces', { metadata: { name: 'shop' } })
  await api.make('/api/v1/namespaces/shop/services', {
    metadata: { name: 'web' },
    spec: { sessionAffinity: 'ClientIP', ports: [{ port: 80 }] },
  })
  await api.make('/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices', {
    metadata: { name: 'web-1', labels: { 'kubernetes.io/service-name': 'web' } },
    addressType: 'IPv4',
    ports: [{ port: 8080 }],
    endpoints: ['10.0.0.1', '10.0.0.2'].map((address) => ({ addresses: [address] })),
  })
}

async function mayListServices(api: IdentityApi): Promise<void> {
  await mayList(api, [
    { apiGroups: [''], resources: ['services'], verbs: ['get', 'list'] },
    { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: ['list'] },
  ])
}

async function mayList(api: IdentityApi, rules: JsonObject[]): Promise<void> {
  const roles = '/apis/rbac.authorization.k8s.io/v1'
  await api.make(`${roles}/clusterroles`, { metadata: { name: 'services' }, rules })
  const apiGroup = 'rbac.authorization.k8s.io'
  await api.make(`${roles}/clusterrolebindings`, {
    metadata: { name: 'services' },
    roleRef: { apiGroup, kind: 'ClusterRole', name: 'services' },
    subjects: [{ apiGroup, kind: 'User', name: 'reader' }],
  })
}

test('session affinity is judged by the counters of the nodes, each port by itself', async () => {
  const queried: string[] = []
  const { doctor, cluster } = await start(STICKY, {
    async *traffic(service) {
      queried.push(service)
      const backend = (entry: string, ip: string, port: number, connections?: bigint) => ({
        entry,
        ip,
        port,
        traffic: connections === undefined ? {} : { connections },
      })
      yield create(ServiceTrafficSchema, {
        service,
        backends: [
          backend(ENTRY, '10.0.0.1', 8080, 120n),
          backend(ENTRY, '10.0.0.2', 8080, 0n),
          // Not all are counted: this port is not judged.
          backend('shop/web:other/TCP/4', '10.0.0.1', 9090, 900n),
          backend('shop/web:other/TCP/4', '10.0.0.2', 9090),
        ],
      })
    },
  })
  await makeStickyService(cluster)
  const { out } = await doctor('service/web', '-n', 'shop', '--nodes', '-o', 'json')
  const findings = JSON.parse(out) as readonly Finding[]
  // The unbalanced load that the node reports has the same cause.
  expect(findings.map(({ check }) => check)).toEqual(['session-affinity'])
  expect(findings[0]!.evidence).toEqual([
    'on n1, 10.0.0.1:8080 got 120 of 120 connections',
    'clients behind one address (NAT, a proxy, a load balancer) are one client',
  ])
  expect(queried).toEqual(['shop/web'])
})

test('a node that counts nothing of the Service leaves what the objects show', async () => {
  const { doctor, cluster } = await start(healthyNode())
  await makeStickyService(cluster)
  const { out } = await doctor('service/web', '-n', 'shop', '--nodes', '-o', 'json')
  const findings = JSON.parse(out) as readonly Finding[]
  expect(findings.map(({ check }) => check)).toEqual(['session-affinity'])
  expect(findings[0]!.evidence).toHaveLength(1)
})
