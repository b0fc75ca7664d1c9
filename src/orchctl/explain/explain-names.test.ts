import { expect, test } from 'vitest'
import type { Cluster } from '../../../test/support/inspection/cluster.ts'
import {
  PODS,
  pod,
  startExplained,
  status,
} from '../../../test/support/inspection/explained-cluster.ts'
import type { JsonObject } from '../../lib/json.ts'

const RBAC = '/apis/rbac.authorization.k8s.io/v1'
const CLUSTER_POLICIES = '/apis/policy.networking.k8s.io/v1alpha2/clusternetworkpolicies'
const POLICIES = '/apis/networking.k8s.io/v1/namespaces/default/networkpolicies'
const SERVICE = '/api/v1/namespaces/default/services'

/** What a node answers: half of the connections to `web`, half to an address without a Pod; `far` is left out. */
function documentOf(more: JsonObject = {}): JsonObject {
  const delivered = (ip: string, port: number, src: string) => ({
    kind: 'delivered',
    probability: 0.5,
    steps: [],
    dst: { ip, port },
    src,
  })
  const far = { ip: '10.0.1.9', port: 8080, node: 'n2', reason: 'hintedForOtherZones' }
  return {
    isWell: true,
    text: 'the text\n',
    src: '10.0.0.3',
    port: 80,
    protocol: 'TCP',
    observed: [delivered('10.0.0.2', 8080, '10.0.0.3'), delivered('192.0.2.9', 80, '127.0.0.1')],
    desired: {
      entry: 'default/web:http/TCP/4',
      backends: [{ ip: '10.0.0.2', port: 8080, node: 'n1' }],
      masquerade: 'no',
      pool: { name: 'cluster', leftOut: [{ ...far, text: 'hinted for zone b' }], leftOutCount: 1 },
    },
    ...more,
  }
}

/** With a Pod `cart`, from which connections come, and `far` on a node of zone `b`. */
async function start(more: JsonObject = {}) {
  const started = await startExplained(async () => ({ json: JSON.stringify(documentOf(more)) }))
  const { cluster } = started
  const { api } = cluster
  await pod(cluster, 'cart', { nodeName: 'n1' })
  await status(cluster, `${PODS}/cart`, { podIP: '10.0.0.3', podIPs: [{ ip: '10.0.0.3' }] })
  await pod(cluster, 'far', { nodeName: 'n2' })
  await status(cluster, `${PODS}/far`, { podIP: '10.0.1.9', podIPs: [{ ip: '10.0.1.9' }] })
  await api.make(SERVICE, {
    metadata: { name: 'web' },
    spec: { ports: [{ port: 80 }], trafficDistribution: 'PreferClose' },
  })
  const explain = async (...words: readonly string[]) => {
    const { out, err } = await started.explain('pod/cart', 'service/web', ...words)
    expect(err).toBe('')
    return out
  }
  return { ...started, explain }
}

/** Lets the user of the tests read these, too. */
async function mayRead({ api }: Cluster, ...resources: readonly string[]): Promise<void> {
  const rules = [
    {
      apiGroups: ['', 'networking.k8s.io', 'policy.networking.k8s.io'],
      resources: [...resources],
      verbs: ['get', 'list'],
    },
  ]
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'more' }
  const subjects = [{ apiGroup: roleRef.apiGroup, kind: 'User', name: 'reader' }]
  await api.make(`${RBAC}/clusterroles`, { metadata: { name: 'more' }, rules })
  await api.make(`${RBAC}/clusterrolebindings`, { metadata: { name: 'more' }, roleRef, subjects })
}

const ALL = ['services', 'namespaces', 'networkpolicies', 'clusternetworkpolicies']

async function policy({ api }: Cluster, name: string, spec: JsonObject): Promise<void> {
  await api.make(POLICIES, { metadata: { name }, spec })
}

const app = (name: string) => ({ matchLabels: { app: name } })

/** The lines of the part of orchctl. */
function clusterPart(out: string): string {
  return out.slice(out.indexOf('The cluster:'))
}

test('the source, the backends and what is left out have their Pods, nodes and zones', async () => {
  const { cluster, explain } = await start()
  await mayRead(cluster, ...ALL)
  expect(clusterPart(await explain())).toBe(
    [
      'The cluster:',
      '  source    10.0.0.3, pod default/cart, node n1, zone a',
      '  service   default/web, internalTrafficPolicy Cluster, externalTrafficPolicy Cluster, trafficDistribution PreferClose',
      '  backend   10.0.0.2:8080, pod default/web, node n1, zone a',
      '  backend   192.0.2.9:80',
      '  left out  10.0.1.9:8080, pod default/far, node n2: hinted for zone b',
      '',
      'NetworkPolicies (by the objects; whether a node enforces them: node-proxy status):',
      '  none selects the source for egress, or a backend for ingress\n',
    ].join('\n'),
  )
  const json = JSON.parse(await explain('-o', 'json')) as JsonObject
  expect(json['cluster']).toMatchObject({
    source: { ip: '10.0.0.3', pod: 'default/cart', node: 'n1', zone: 'a' },
    service: { name: 'default/web', trafficDistribution: 'PreferClose' },
    backends: [
      { ip: '10.0.0.2', port: 8080, pod: 'default/web', node: 'n1', zone: 'a' },
      { ip: '192.0.2.9', port: 80 },
    ],
    leftOut: [{ ip: '10.0.1.9', pod: 'default/far', node: 'n2' }],
    networkPolicies: [{ isAdmitted: true }, { isAdmitted: true }],
    unread: [],
  })
})

test('NetworkPolicies that admit a connection, and that do not', async () => {
  const { cluster, explain } = await start()
  await mayRead(cluster, ...ALL)
  const from = [{ podSelector: app('cart') }]
  await policy(cluster, 'closed', { podSelector: {}, policyTypes: ['Ingress'] })
  const denied = clusterPart(await explain())
  expect(denied).toContain(
    [
      '  by these objects the connection to 10.0.0.2:8080 is not admitted',
      '    egress of pod default/cart: admitted: no policy selects it',
      '    ingress of pod default/web: not admitted: selected by default/closed, no rule admits it\n',
    ].join('\n'),
  )
  const ingress = [{ from, ports: [{ port: 'http' }] }]
  await policy(cluster, 'open', { podSelector: app('web'), ingress, policyTypes: ['Ingress'] })
  await policy(cluster, 'out', {
    podSelector: app('cart'),
    policyTypes: ['Egress'],
    egress: [{ to: [{ namespaceSelector: {}, podSelector: app('web') }] }],
  })
  const admitted = clusterPart(await explain())
  expect(admitted).toContain(
    [
      // The address without a Pod is no peer of the egress rule; it comes first.
      '  by these objects the connection to 192.0.2.9:80, which sees 127.0.0.1, is not admitted',
      '    egress of pod default/cart: not admitted: selected by default/out, no rule admits it',
      '  by these objects the connection to 10.0.0.2:8080 is admitted',
      '    egress of pod default/cart: admitted by default/out, rule egress[0]',
      '    ingress of pod default/web: admitted by default/open, rule ingress[0]\n',
    ].join('\n'),
  )
})

test('ClusterNetworkPolicies that decide before NetworkPolicies, or not at all', async () => {
  const { cluster, explain } = await start()
  await mayRead(cluster, ...ALL)
  await policy(cluster, 'open', { podSelector: {}, ingress: [{}], policyTypes: ['Ingress'] })
  const peer = { pods: { namespaceSelector: {}, podSelector: app('cart') } }
  const ingress = [
    { action: 'Accept', from: [{ namespaces: { matchLabels: { none: 'none' } } }] },
    { name: 'no-carts', action: 'Deny', from: [peer] },
  ]
  const egress = [{ action: 'Pass', to: [{ namespaces: {} }] }]
  const spec = { tier: 'Admin', priority: 1, subject: { namespaces: {} }, ingress, egress }
  await cluster.api.make(CLUSTER_POLICIES, { metadata: { name: 'fence' }, spec })
  expect(clusterPart(await explain())).toContain(
    [
      '  by these objects the connection to 10.0.0.2:8080 is not admitted',
      '    egress of pod default/cart: admitted: no rule of clusternetworkpolicy/fence decides',
      '    ingress of pod default/web: not admitted: denied by clusternetworkpolicy/fence of tier Admin, rule ingress[1] "no-carts"\n',
    ].join('\n'),
  )
})

test('a backend judges the source that it sees: masqueraded, the node', async () => {
  const seen = { ip: '10.0.0.2', port: 8080 }
  const observed = [{ kind: 'delivered', dst: seen, src: '127.0.0.1', probability: 1, steps: [] }]
  const { cluster, explain } = await start({ observed })
  await mayRead(cluster, ...ALL)
  await policy(cluster, 'closed', { podSelector: {}, policyTypes: ['Ingress'] })
  expect(clusterPart(await explain())).toContain(
    [
      '  by these objects the connection to 10.0.0.2:8080, which sees 127.0.0.1, is admitted',
      '    egress of pod default/cart: admitted: no policy selects it',
      '    ingress of pod default/web: admitted: a node and its own Pods reach each other\n',
    ].join('\n'),
  )
})

test('what may not be read is named, and the rest is shown', async () => {
  const { explain } = await start()
  const out = clusterPart(await explain())
  expect(out).toContain('  source    10.0.0.3, pod default/cart, node n1, zone a\n')
  expect(out).toContain('  not known\n')
  expect(out).toMatch(/^Not read: the Service: .*services "web" is forbidden/m)
  expect(out).toMatch(/^Not read: ClusterNetworkPolicies: .*clusternetworkpolicies.* is forbidden/m)
  expect(out).toMatch(/^Not read: NetworkPolicies: .*networkpolicies.* is forbidden/m)
})
