import { type JsonObject, valueAt } from '../../../src/lib/json.ts'
import { bindingOf, openNamespace, type Shop } from './shop.ts'
import { makeSlice } from './spoilt-clusters.ts'

/** Something unusual that works, in a namespace that works. */
export interface HealthyShape {
  readonly what: string
  readonly build: (shop: Shop) => Promise<unknown>
}

const POLICIES = '/apis/networking.k8s.io/v1'
const RBAC = '/apis/rbac.authorization.k8s.io/v1'

/** Twenty clusters. Those with Nodes come last, because a Node without heartbeats is NotReady after forty seconds. */
export const HEALTHY_SHAPES: readonly HealthyShape[] = [
  { what: 'Pods, a Service, an account and a role', build: async () => undefined },
  {
    what: 'a headless Service',
    build: async ({ service, ready }) => {
      await service('peers', { clusterIP: 'None' })
      await ready('peers', 2)
    },
  },
  {
    what: 'aliases of a host outside and of a Service of another namespace',
    build: async ({ service }) => {
      const alias = { type: 'ExternalName', selector: null }
      await service('outside', { ...alias, externalName: 'db.example.com' })
      await service('api', { ...alias, externalName: 'kubernetes.default.svc.cluster.local' })
    },
  },
  {
    what: 'a Service without selector, with a slice of its user',
    build: async ({ cluster, namespace, service }) => {
      await service('manual', { selector: null })
      await makeSlice(cluster, namespace, 'manual')
    },
  },
  {
    what: 'a Service without selector, with Endpoints of its user',
    build: async ({ cluster, core, service, ready }) => {
      await service('legacy', { selector: null })
      const subsets = [
        { addresses: [{ ip: '198.51.100.30' }], ports: [{ name: 'web', port: 8080 }] },
      ]
      await cluster.make(`${core}/endpoints`, { metadata: { name: 'legacy' }, subsets })
      await ready('legacy', 1)
    },
  },
  {
    what: 'both families where there are both',
    build: ({ service }) => service('both', { ipFamilyPolicy: 'PreferDualStack' }),
  },
  {
    what: 'a finished job beside',
    build: ({ pod }) =>
      pod('job-1', {
        labels: { app: 'web', job: 'migrate' },
        status: { phase: 'Succeeded', conditions: [{ type: 'Ready', status: 'False' }] },
      }),
  },
  {
    what: 'a Deployment without replicas on purpose',
    build: async ({ cluster, namespace, service }) => {
      const labels = { app: 'idle' }
      const template = { metadata: { labels }, spec: { containers: [{ name: 'a', image: 'a' }] } }
      await cluster.make(`/apis/apps/v1/namespaces/${namespace}/deployments`, {
        metadata: { name: 'idle' },
        spec: { replicas: 0, selector: { matchLabels: labels }, template },
      })
      await service('idle', { selector: labels })
    },
  },
  {
    what: 'a Service that publishes Pods that are not ready',
    build: async ({ pod, service, ready }) => {
      const conditions = [{ type: 'Ready', status: 'False' }]
      await pod('starting-0', { labels: { app: 'starting' }, status: { conditions } })
      const spec = { clusterIP: 'None', publishNotReadyAddresses: true }
      await service('starting', { selector: { app: 'starting' }, ...spec })
      await ready('starting', 1)
    },
  },
  {
    what: 'named Pods of a set',
    build: async ({ pod, service, ready }) => {
      for (const hostname of ['db-0', 'db-1']) {
        await pod(hostname, { labels: { app: 'db' }, spec: { hostname, subdomain: 'db' } })
      }
      await service('db', { clusterIP: 'None', selector: { app: 'db' } })
      await ready('db', 2)
    },
  },
  {
    what: 'a binding for groups and users',
    build: ({ cluster, rbac }) =>
      cluster.make(`${rbac}/rolebindings`, {
        ...bindingOf('group', ''),
        subjects: ['Group', 'User'].map((kind) => ({
          kind,
          name: 'developers',
          apiGroup: 'rbac.authorization.k8s.io',
        })),
      }),
  },
  {
    what: 'an aggregated role, bound in a namespace',
    build: async ({ cluster, rbac, namespace }) => {
      const name = `${namespace}-all`
      const clusterRoleSelectors = [{ matchLabels: { part: namespace } }]
      await cluster.make(`${RBAC}/clusterroles`, {
        metadata: { name },
        aggregationRule: { clusterRoleSelectors },
        rules: [],
      })
      const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name }
      const metadata = { name: 'all' }
      await cluster.make(`${rbac}/rolebindings`, {
        ...bindingOf('robot', namespace),
        metadata,
        roleRef,
      })
    },
  },
  {
    what: 'a token in a Secret',
    build: async ({ cluster, core }) => {
      const annotations = { 'kubernetes.io/service-account.name': 'robot' }
      const type = 'kubernetes.io/service-account-token'
      const metadata = { name: 'robot-token', annotations }
      await cluster.make(`${core}/secrets`, { metadata, type })
      await cluster.until(`${core}/secrets`, (one) => valueAt(one, 'data', 'token') !== undefined)
    },
  },
  {
    what: 'a load balancer with an address and source ranges',
    build: async ({ cluster, core, service }) => {
      await service('lb', { type: 'LoadBalancer', loadBalancerSourceRanges: ['203.0.113.0/24'] })
      const has = (one: JsonObject) =>
        valueAt(one, 'status', 'loadBalancer', 'ingress') !== undefined
      await cluster.until(`${core}/services`, has)
    },
  },
  {
    what: 'policies that deny all and admit clients to the port',
    build: async ({ cluster, namespace }) => {
      const path = `${POLICIES}/namespaces/${namespace}/networkpolicies`
      await cluster.make(path, {
        metadata: { name: 'deny' },
        spec: { podSelector: {}, policyTypes: ['Ingress', 'Egress'] },
      })
      const ingress = [{ from: [{ namespaceSelector: {} }], ports: [{ port: 'http' }] }]
      await cluster.make(path, {
        metadata: { name: 'admit' },
        spec: { podSelector: { matchLabels: { app: 'web' } }, ingress },
      })
    },
  },
  {
    what: 'affinity, a named port and a number that no container declares',
    build: async ({ pod, service, ready }) => {
      await pod('plain', {
        labels: { app: 'plain' },
        container: { ports: [], readinessProbe: null },
      })
      const ports = [{ name: 'a', port: 80, targetPort: 9000 }]
      await service('plain', { selector: { app: 'plain' }, ports, sessionAffinity: 'ClientIP' })
      await ready('plain', 1)
    },
  },
  {
    what: 'Pods with a resolver and tokens of their own',
    build: async ({ pod }) => {
      const sources = [{ serviceAccountToken: { path: 'token', audience: 'vault' } }]
      await pod('own', {
        labels: {},
        spec: { dnsPolicy: 'Default', volumes: [{ name: 'vault', projected: { sources } }] },
        container: { volumeMounts: [{ name: 'vault', mountPath: '/vault' }] },
      })
      await pod('silent', { labels: {}, spec: { automountServiceAccountToken: false } })
    },
  },
  {
    what: 'one Pod of two that is not ready',
    build: async ({ cluster, core, ready }) => {
      const conditions = [{ type: 'Ready', status: 'False' }]
      await cluster.patch(`${core}/pods/web-2/status`, { status: { conditions } })
      // Its endpoint is still in the slice, but not ready.
      await ready('web', 1)
    },
  },
  {
    what: 'policies Local with endpoints on the nodes that are used',
    build: async ({ cluster, pod, namespace, service, ready }) => {
      await makeNode(cluster, namespace)
      await pod('edge-1', { labels: { app: 'edge' }, spec: { nodeName: namespace } })
      await service('edge', {
        type: 'NodePort',
        selector: { app: 'edge' },
        externalTrafficPolicy: 'Local',
        internalTrafficPolicy: 'Local',
      })
      await ready('edge', 1)
      await pod('client', { labels: {}, spec: { nodeName: namespace } })
    },
  },
  {
    what: 'the same policies, with a node without endpoints that runs other Pods',
    build: async ({ cluster, namespace }) => {
      const other = await openNamespace(cluster, `${namespace}-other`, 99)
      await makeNode(cluster, namespace)
      await other.pod('batch', { labels: {}, spec: { nodeName: namespace } })
    },
  },
]

async function makeNode(cluster: Shop['cluster'], name: string): Promise<void> {
  const conditions = [{ type: 'Ready', status: 'True' }]
  await cluster.make('/api/v1/nodes', { metadata: { name } })
  await cluster.patch(`/api/v1/nodes/${name}/status`, { status: { conditions } })
}
