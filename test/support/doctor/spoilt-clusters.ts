import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type JsonObject, stringAt, valueAt } from '../../../src/lib/json.ts'
import { bindingOf, PULLING, type Shop, UNREADY } from './shop.ts'
import { signedToken } from './signed-token.ts'

/** One fault in a namespace that otherwise works. */
export interface SpoiltCluster {
  readonly what: string
  /** @returns further arguments of orchctl doctor */
  readonly spoil: (shop: Shop) => Promise<readonly string[] | void>
  /** The check of the first finding; `object`: its object without the namespace. */
  readonly check: string
  readonly object: string
  readonly cause: RegExp
}

const DEPLOYMENTS = '/apis/apps/v1'
const POLICIES = '/apis/networking.k8s.io/v1'
const CLUSTER_POLICIES = '/apis/policy.networking.k8s.io/v1alpha2/clusternetworkpolicies'

/** One real cluster for each cause. */
export const SPOILT_CLUSTERS: readonly SpoiltCluster[] = [
  {
    what: 'a label with a mistake',
    spoil: async ({ cluster, core, ready }) => {
      for (const name of ['web-1', 'web-2']) {
        await cluster.patch(`${core}/pods/${name}`, { metadata: { labels: { app: 'wbe' } } })
      }
      await ready('web', 0)
    },
    check: 'selector-matches-nothing',
    object: 'service/web',
    cause: /app=web matches no/,
  },
  {
    what: 'Pods whose readiness probe fails',
    spoil: async ({ cluster, core, ready }) => {
      for (const name of ['web-1', 'web-2']) {
        await cluster.patch(`${core}/pods/${name}/status`, { status: UNREADY })
      }
      await ready('web', 0)
    },
    check: 'pods-not-ready',
    object: 'pod/web-1',
    cause: /the readiness probe of container main \(TCP port http\) fails/,
  },
  {
    what: 'a targetPort that no container has',
    spoil: async ({ cluster, core, ready }) => {
      const ports = [{ name: 'web', port: 80, targetPort: 'htpp' }]
      await cluster.patch(`${core}/services/web`, { spec: { ports } })
      await ready('web', 0)
    },
    check: 'target-port',
    object: 'service/web',
    cause: /"htpp"/,
  },
  {
    what: 'a targetPort with another number than all Pods have',
    spoil: async ({ cluster, core }) => {
      const ports = [{ name: 'web', port: 80, targetPort: 8008 }]
      await cluster.patch(`${core}/services/web`, { spec: { ports } })
    },
    check: 'target-port',
    object: 'service/web',
    cause: /targetPort 8008/,
  },
  {
    what: 'a Service without selector and endpoints',
    spoil: ({ service }) => service('manual', { selector: null }),
    check: 'endpoints-missing',
    object: 'service/manual',
    cause: /no selector/,
  },
  {
    what: 'a Deployment without replicas, of the inspected Service',
    spoil: async ({ cluster, namespace, service }) => {
      const labels = { app: 'idle' }
      const template = { metadata: { labels }, spec: { containers: [{ name: 'a', image: 'a' }] } }
      await cluster.make(`${DEPLOYMENTS}/namespaces/${namespace}/deployments`, {
        metadata: { name: 'idle' },
        spec: { replicas: 0, selector: { matchLabels: labels }, template },
      })
      await service('idle', { selector: labels })
      return ['service/idle']
    },
    check: 'scaled-to-zero',
    object: 'deployment/idle',
    cause: /has 0 replicas/,
  },
  {
    what: 'a NetworkPolicy without rules',
    spoil: async ({ cluster, namespace }) => {
      await cluster.make(`${POLICIES}/namespaces/${namespace}/networkpolicies`, {
        metadata: { name: 'closed' },
        spec: { podSelector: {}, policyTypes: ['Ingress'] },
      })
    },
    check: 'network-policy',
    object: 'networkpolicy/closed',
    cause: /admit no client/,
  },
  {
    what: 'a ClusterNetworkPolicy that denies before it accepts',
    spoil: async ({ cluster, namespace }) => {
      const peer = { namespaces: { matchLabels: { 'kubernetes.io/metadata.name': namespace } } }
      await cluster.make(CLUSTER_POLICIES, {
        metadata: { name: 'fence' },
        spec: {
          tier: 'Admin',
          priority: 7,
          subject: peer,
          ingress: [
            { name: 'keep-out', action: 'Deny', from: [{ namespaces: {} }] },
            { action: 'Accept', from: [peer] },
          ],
        },
      })
    },
    check: 'cluster-network-policy',
    object: 'clusternetworkpolicy/fence',
    cause:
      /fence \(tier Admin, priority 7\) denies every Pod the port 80 of service\/web, by its rule ingress\[0\] "keep-out"/,
  },
  {
    what: 'session affinity of the inspected Service',
    spoil: async ({ cluster, core }) => {
      await cluster.patch(`${core}/services/web`, { spec: { sessionAffinity: 'ClientIP' } })
      return ['service/web']
    },
    check: 'session-affinity',
    object: 'service/web',
    cause: /one of 2 endpoints/,
  },
  {
    what: 'a load balancer of a class that nothing provides',
    spoil: ({ service }) =>
      service('lb', { type: 'LoadBalancer', loadBalancerClass: 'example.com/none' }),
    check: 'load-balancer-pending',
    object: 'service/lb',
    cause: /no address/,
  },
  {
    what: 'source ranges of the loopback alone',
    spoil: async ({ cluster, core, service }) => {
      await service('lb', { type: 'LoadBalancer', loadBalancerSourceRanges: ['127.0.0.0/8'] })
      const isAssigned = (one: JsonObject) =>
        valueAt(one, 'status', 'loadBalancer', 'ingress') !== undefined
      await cluster.until(`${core}/services`, isAssigned)
    },
    check: 'source-ranges',
    object: 'service/lb',
    cause: /no client is admitted/,
  },
  {
    what: 'an external address of two Services',
    spoil: async ({ service, ready }) => {
      for (const name of ['one', 'two']) await service(name, { externalIPs: ['198.51.100.7'] })
      await ready('two', 2)
    },
    check: 'address-conflict',
    object: 'service/two',
    cause: /198.51.100.7:80\/TCP/,
  },
  {
    what: 'externalTrafficPolicy Local with endpoints that name no node',
    spoil: async ({ cluster, namespace, service }) => {
      const conditions = [{ type: 'Ready', status: 'True' }]
      const [node, spec] = [{ metadata: { name: namespace } }, { externalTrafficPolicy: 'Local' }]
      await cluster.make('/api/v1/nodes', { ...node, status: { conditions } })
      await cluster.patch(`/api/v1/nodes/${namespace}/status`, { status: { conditions } })
      await service('local', { type: 'NodePort', selector: null, ...spec })
      await makeSlice(cluster, namespace, 'local')
    },
    check: 'local-policy',
    object: 'service/local',
    cause: /no node has a ready endpoint/,
  },
  {
    what: 'an ExternalName that is an address',
    spoil: ({ service }) =>
      service('alias', { type: 'ExternalName', externalName: '192.0.2.1', selector: null }),
    check: 'external-name',
    object: 'service/alias',
    cause: /is an address/,
  },
  {
    what: 'an ExternalName that leads back',
    spoil: ({ service, namespace }) => {
      const externalName = `alias.${namespace}.svc.cluster.local`
      return service('alias', { type: 'ExternalName', externalName, selector: null })
    },
    check: 'external-name',
    object: 'service/alias',
    cause: /leads back/,
  },
  {
    what: 'a Pod with the resolver of its node',
    spoil: async ({ pod }) => {
      await pod('old', { labels: {}, spec: { dnsPolicy: 'Default' } })
      return ['pod/old']
    },
    check: 'pod-dns',
    object: 'pod/old',
    cause: /the servers of its node/,
  },
  {
    what: 'a DNS server of another domain',
    spoil: async ({ cluster }) => [`--dns-server=${cluster.dns}`, '--cluster-domain=other.test'],
    check: 'dns-answers',
    object: 'dns/',
    cause: /does not answer for the cluster/,
  },
  {
    what: 'a DNS server whose upstream fails',
    spoil: async ({ cluster, service }) => {
      await service('out', { type: 'ExternalName', externalName: 'a.example', selector: null })
      return [`--dns-server=${cluster.dns}`]
    },
    check: 'dns-upstream',
    object: 'dns/',
    cause: /its upstreams fail/,
  },
  {
    what: 'a deleted account',
    spoil: ({ cluster, core }) => cluster.remove(`${core}/serviceaccounts/robot`),
    check: 'missing-account',
    object: 'serviceaccount/robot',
    cause: /does not exist/,
  },
  {
    what: 'a deleted role',
    spoil: ({ cluster, rbac }) => cluster.remove(`${rbac}/roles/reader`),
    check: 'broken-binding',
    object: 'rolebinding/robot-reads',
    cause: /Role .*\/reader/,
  },
  {
    what: 'a binding for an account that is not there',
    spoil: async ({ cluster, rbac, namespace }) =>
      void (await cluster.make(`${rbac}/rolebindings`, bindingOf('robto', namespace))),
    check: 'broken-binding',
    object: 'rolebinding/robto-reads',
    cause: /robto/,
  },
  {
    what: 'a revoked binding',
    spoil: async ({ cluster, rbac }) => {
      await cluster.remove(`${rbac}/rolebindings/robot-reads`)
      return ['pod/web-1', '--can', 'list', 'pods']
    },
    check: 'access-refused',
    object: 'serviceaccount/robot',
    cause: /may not list pods/,
  },
  {
    what: 'an immutable Secret for a token',
    spoil: async ({ cluster, core }) => {
      const type = 'kubernetes.io/service-account-token'
      const annotations = { 'kubernetes.io/service-account.name': 'robot' }
      const metadata = { name: 'fixed', annotations }
      await cluster.make(`${core}/secrets`, { metadata, type, immutable: true })
    },
    check: 'token-secret',
    object: 'secret/fixed',
    cause: /has none/,
  },
  {
    what: 'a token for others where clients look for theirs',
    spoil: ({ pod }) => {
      const mountPath = '/var/run/secrets/kubernetes.io/serviceaccount'
      const sources = [{ serviceAccountToken: { path: 'token', audience: 'vault' } }]
      const volumes = [{ name: 'own', projected: { sources } }]
      const container = { volumeMounts: [{ name: 'own', mountPath }] }
      return pod('client', { labels: {}, spec: { volumes }, container })
    },
    check: 'api-token',
    object: 'pod/client',
    cause: /"vault"/,
  },
  {
    what: 'a Pod without a token',
    spoil: async ({ pod }) => {
      await pod('client', { labels: {}, spec: { automountServiceAccountToken: false } })
      return ['pod/client']
    },
    check: 'api-token',
    object: 'pod/client',
    cause: /no token is mounted/,
  },
  {
    what: 'a token for another audience',
    spoil: async (shop) => tokenArgs(shop, await requestToken(shop, { audiences: ['vault'] })),
    check: 'token-audience',
    object: 'serviceaccount/robot',
    cause: /"vault"/,
  },
  {
    what: 'a token of an account that was created again',
    spoil: async (shop) => {
      const { cluster, core } = shop
      const token = await requestToken(shop, {})
      await cluster.remove(`${core}/serviceaccounts/robot`)
      await cluster.make(`${core}/serviceaccounts`, { metadata: { name: 'robot' } })
      return tokenArgs(shop, token)
    },
    check: 'token-account',
    object: 'serviceaccount/robot',
    cause: /created again/,
  },
  {
    what: 'a token that has expired',
    spoil: async (shop) => tokenArgs(shop, await tokenOfServer(shop, -7_200_000)),
    check: 'token-expired',
    object: 'serviceaccount/robot',
    cause: /the token expired at/,
  },
  {
    what: 'a token of the future',
    spoil: async (shop) => tokenArgs(shop, await tokenOfServer(shop, 7_200_000)),
    check: 'token-not-yet-valid',
    object: 'serviceaccount/robot',
    cause: /not valid before/,
  },
  {
    what: 'a token of another issuer',
    spoil: async (shop) => tokenArgs(shop, await tokenOfServer(shop, 0, 'https://other.test')),
    check: 'token-issuer',
    object: 'serviceaccount/robot',
    cause: /"https:\/\/other.test"/,
  },
  ...(
    [
      ['a pull secret of another type', { type: 'Opaque', stringData: { a: 'b' } }, /is Opaque/],
      ['a pull secret of another registry', pullSecret('quay.test'), /none for registry.test/],
      ['a pull secret that is not there', undefined, /which is not there/],
    ] as const
  ).map(
    ([what, secret, cause]): SpoiltCluster => ({
      what,
      spoil: async ({ cluster, core, pod }) => {
        const made = secret && { metadata: { name: 'pull' }, ...(secret as JsonObject) }
        if (made !== undefined) await cluster.make(`${core}/secrets`, made)
        const container = { image: 'registry.test/web:1' }
        const spec = { imagePullSecrets: [{ name: 'pull' }] }
        await pod('pulled', { labels: {}, spec, container, status: PULLING })
      },
      check: 'image-pull',
      object: 'pod/pulled',
      cause,
    }),
  ),
]

function pullSecret(registry: string): JsonObject {
  const config = JSON.stringify({ auths: { [registry]: { auth: 'YTpi' } } })
  return { type: 'kubernetes.io/dockerconfigjson', stringData: { '.dockerconfigjson': config } }
}

/** An EndpointSlice that a user writes, without nodes. */
export async function makeSlice(
  cluster: Shop['cluster'],
  namespace: string,
  service: string,
): Promise<void> {
  const labels = { 'kubernetes.io/service-name': service }
  await cluster.make(`/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`, {
    metadata: { name: `${service}-own`, labels },
    addressType: 'IPv4',
    ports: [{ name: 'web', port: 8080 }],
    endpoints: [{ addresses: ['198.51.100.20'] }],
  })
}

async function requestToken({ cluster, core }: Shop, spec: JsonObject): Promise<string> {
  const answer = await cluster.make(`${core}/serviceaccounts/robot/token`, { spec })
  return stringAt(answer, 'status', 'token')
}

/** A token signed with the key of the server, valid for an hour, by a clock that is ahead by this much. */
async function tokenOfServer(
  { cluster, core, namespace }: Shop,
  aheadMs: number,
  issuer?: string,
): Promise<string> {
  const key = await readFile(join(cluster.server.dataDir, 'pki', 'sa.key'), 'utf8')
  const account = await cluster.api.get(`${core}/serviceaccounts/robot`)
  const uid = account.ok ? stringAt(account.value as JsonObject, 'metadata', 'uid') : ''
  const claims = { namespace, account: { name: 'robot', uid } }
  return signedToken({ key, claims, aheadMs, ...(issuer !== undefined && { issuer }) })
}

async function tokenArgs({ cluster }: Shop, token: string): Promise<readonly string[]> {
  const folder = await mkdtemp(join(cluster.shell.home, 'token-'))
  const file = join(folder, 'token')
  await writeFile(file, token, { mode: 0o600 })
  return [`--token-file=${file}`]
}
