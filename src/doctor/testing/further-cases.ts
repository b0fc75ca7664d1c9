import type { JsonObject } from '../../lib/json.ts'
import { LOAD_BALANCER_CONDITION } from '../../resources/label-names.ts'
import type { FurtherEvidence } from '../evidence/cluster-evidence.ts'
import type { InspectedObject } from '../evidence/inspected-object.ts'
import { node, type Objects, pod, service } from './healthy-cluster.ts'

/** A healthy cluster in which one thing is broken, and the first finding. */
export interface DoctorCase {
  readonly what: string
  readonly spoil: (cluster: Objects) => void
  readonly inspected?: InspectedObject
  readonly more?: FurtherEvidence
  readonly finding: {
    readonly check: string
    readonly object: string
    readonly cause: string | RegExp
  }
  /** A part of its evidence. */
  readonly seen?: string
  /** Absent: any. */
  readonly remedy?: string | RegExp
}

const web: InspectedObject = { kind: 'service', key: 'shop/web' }
const webPod: InspectedObject = { kind: 'pod', key: 'shop/web-1' }

function webIs(spec: JsonObject, rest: JsonObject = {}) {
  return (cluster: Objects): void => {
    cluster.services[0] = { ...service('web', { app: 'web' }, spec), ...rest }
  }
}

function policy(spec: JsonObject): JsonObject {
  return { kind: 'NetworkPolicy', metadata: { namespace: 'shop', name: 'closed' }, spec }
}

/** A ClusterNetworkPolicy with a rule of ingress for each of these. */
function fence(...ingress: readonly JsonObject[]): JsonObject {
  const spec = { tier: 'Admin', priority: 7, subject: { namespaces: {} }, ingress: [...ingress] }
  return { kind: 'ClusterNetworkPolicy', metadata: { name: 'fence' }, spec }
}

const DENY = { name: 'keep-out', action: 'Deny', from: [{ namespaces: {} }] }
const OWN = { namespaces: { matchLabels: { 'kubernetes.io/metadata.name': 'shop' } } }
const OPEN = { podSelector: {}, ingress: [{}] }

function firstPod(spec: JsonObject) {
  return (cluster: Objects): void => {
    cluster.pods[0] = pod('web-1', { app: 'web' }, spec)
  }
}

const apiMount = { name: 'own', mountPath: '/var/run/secrets/kubernetes.io/serviceaccount' }
const finding = (check: string, object: string, cause: string | RegExp) => ({
  check,
  object,
  cause,
})

const EXHAUSTED = {
  type: LOAD_BALANCER_CONDITION,
  status: 'False',
  reason: 'PoolExhausted',
  message: 'No pool has an IPv4 address left.',
}

/** Causes by policies, addresses, names and tokens. */
export const FURTHER_CASES: readonly DoctorCase[] = [
  {
    what: 'a targetPort with another number than the one that is probed',
    spoil: (cluster) => {
      const readinessProbe = { tcpSocket: { port: 'http' } }
      const ports = [{ name: 'http', containerPort: 8080 }]
      const containers = [{ name: 'main', ports, readinessProbe }]
      cluster.pods = cluster.pods.map((one, at) =>
        at < 2 ? pod(`web-${at + 1}`, { app: 'web' }, { containers }) : one,
      )
      webIs({ ports: [{ port: 80, targetPort: 8008 }] })(cluster)
    },
    finding: finding('target-port', 'service/shop/web', /targetPort 8008 is declared by no/),
    seen: 'declare port 8080 alone',
  },
  {
    what: 'an ExternalName that is an address',
    spoil: webIs({ type: 'ExternalName', externalName: '192.0.2.1', selector: {} }),
    finding: finding('external-name', 'service/shop/web', /"192.0.2.1" is an address/),
  },
  {
    what: 'an ExternalName that leads back',
    spoil: (cluster) => {
      const alias = (externalName: string) => ({ type: 'ExternalName', externalName, selector: {} })
      webIs(alias('other.shop.svc.cluster.local.'))(cluster)
      cluster.services.push(service('other', {}, alias('WEB.shop.svc')))
    },
    finding: finding('external-name', 'service/shop/web', 'shop/web -> shop/other -> shop/web'),
  },
  {
    what: 'an ExternalName of a Service that is not there, in another domain',
    spoil: webIs({
      type: 'ExternalName',
      externalName: 'wbe.shop.svc.example.org',
      selector: {},
    }),
    more: { clusterDomain: 'example.org' },
    finding: finding('external-name', 'service/shop/web', /shop\/wbe, which does not exist/),
  },
  {
    what: 'an ExternalName of a Service that is not there',
    spoil: webIs({
      type: 'ExternalName',
      externalName: 'wbe.shop.svc.cluster.local',
      selector: {},
    }),
    finding: finding('external-name', 'service/shop/web', /shop\/wbe, which does not exist/),
  },
  {
    what: 'a NetworkPolicy without rules',
    spoil: (cluster) => void cluster.networkpolicies.push(policy({ podSelector: {} })),
    finding: finding(
      'network-policy',
      'networkpolicy/shop/closed',
      /admit no client to its port 80/,
    ),
    seen: 'leads to port 8080',
  },
  {
    what: 'a NetworkPolicy for another port',
    spoil: (cluster) => {
      const podSelector = { matchExpressions: [{ key: 'app', operator: 'In', values: ['web'] }] }
      const ingress = [{ ports: [{ port: 9090 }, { port: 8080, protocol: 'UDP' }] }]
      cluster.networkpolicies.push(policy({ podSelector, ingress, policyTypes: ['Ingress'] }))
    },
    finding: finding('network-policy', 'networkpolicy/shop/closed', /admit no client/),
  },
  {
    what: 'a NetworkPolicy for Pods alone, of the inspected node port',
    spoil: (cluster) => {
      webIs({ type: 'NodePort' })(cluster)
      const ingress = [{ from: [{ podSelector: {} }] }]
      cluster.networkpolicies.push(policy({ podSelector: {}, ingress }))
    },
    inspected: web,
    finding: finding('network-policy', 'networkpolicy/shop/closed', /Pods alone/),
  },
  {
    what: 'a NetworkPolicy without rules, beside a ClusterNetworkPolicy that denies some Pods',
    spoil: (cluster) => {
      const from = [{ pods: { podSelector: { matchLabels: { app: 'cart' } } } }]
      cluster.clusternetworkpolicies.push(fence({ ...DENY, from }))
      cluster.networkpolicies.push(policy({ podSelector: {} }))
    },
    finding: finding('network-policy', 'networkpolicy/shop/closed', /admit no client/),
  },
  {
    what: 'a ClusterNetworkPolicy that admits the only Pod of a Service to itself',
    spoil: (cluster) => {
      cluster.pods.splice(1, 1)
      const matchExpressions = [{ key: 'app', operator: 'NotIn', values: ['web'] }]
      const from = [{ pods: { podSelector: { matchExpressions } } }]
      cluster.clusternetworkpolicies.push(fence({ ...DENY, from }))
    },
    finding: finding('cluster-network-policy', 'clusternetworkpolicy/fence', /denies every Pod/),
  },
  {
    what: 'a ClusterNetworkPolicy that denies, before a NetworkPolicy that admits',
    spoil: (cluster) => {
      cluster.clusternetworkpolicies.push(fence(DENY))
      cluster.networkpolicies.push(policy(OPEN))
    },
    finding: finding(
      'cluster-network-policy',
      'clusternetworkpolicy/fence',
      'the ClusterNetworkPolicy fence (tier Admin, priority 7) denies every Pod the port 80 of service/web, by its rule ingress[0] "keep-out"',
    ),
    seen: 'networkpolicy/shop/closed admits such a connection, and is judged later',
  },
  {
    what: 'a ClusterNetworkPolicy that denies before it accepts',
    spoil: (cluster) => {
      cluster.clusternetworkpolicies.push(fence(DENY, { action: 'Accept', from: [OWN] }))
    },
    finding: finding('cluster-network-policy', 'clusternetworkpolicy/fence', /denies every Pod/),
    seen: 'the rule ingress[1] accepts such a connection, and comes later',
    remedy: 'move its rule ingress[1] before ingress[0] "keep-out"',
  },
  {
    what: 'a ClusterNetworkPolicy that comes before another one that accepts',
    spoil: (cluster) => {
      const other = fence({ action: 'Accept', from: [OWN] })
      const spec = { ...(other['spec'] as JsonObject), priority: 8 }
      cluster.clusternetworkpolicies.push(fence(DENY), {
        ...other,
        metadata: { name: 'open' },
        spec,
      })
    },
    finding: finding('cluster-network-policy', 'clusternetworkpolicy/fence', /denies every Pod/),
    seen: 'the rule ingress[0] of clusternetworkpolicy/open accepts such a connection',
    remedy: 'give clusternetworkpolicy/open a lower priority than 7, so that it is judged first',
  },
  {
    what: 'a ClusterNetworkPolicy of tier Baseline for the port of the Pods',
    spoil: (cluster) => {
      const protocols = [{ tcp: { destinationPort: { number: 8080 } } }]
      const closed = fence({ ...DENY, protocols })
      const spec = { ...(closed['spec'] as JsonObject), tier: 'Baseline' }
      cluster.clusternetworkpolicies.push({ ...closed, spec })
    },
    finding: finding('cluster-network-policy', 'clusternetworkpolicy/fence', /\(tier Baseline/),
    seen: 'the port leads to port 8080 of the Pod',
    remedy: /a NetworkPolicy that admits the clients, which decides in place of the tier Baseline/,
  },
  {
    what: 'a ClusterNetworkPolicy for the egress of all clients',
    spoil: (cluster) => {
      const egress = [{ action: 'Deny', to: [OWN] }]
      const spec = { tier: 'Admin', priority: 1, subject: { namespaces: {} }, egress }
      cluster.clusternetworkpolicies.push({ metadata: { name: 'fence' }, spec })
    },
    finding: finding('cluster-network-policy', 'clusternetworkpolicy/fence', /rule egress\[0\]/),
    seen: 'is a subject of it, for egress',
    remedy: /^add a rule of Accept for the clients and port 8080 of the Pod before egress\[0\]/,
  },
  {
    what: 'a ClusterNetworkPolicy that denies some Pods, of the inspected Service',
    spoil: (cluster) => {
      const from = [{ pods: { podSelector: { matchLabels: { app: 'cart' } } } }]
      cluster.clusternetworkpolicies.push(fence({ ...DENY, from }))
      cluster.pods.push(pod('cart-1', { app: 'cart' }))
    },
    inspected: web,
    finding: finding(
      'cluster-network-policy',
      'clusternetworkpolicy/fence',
      /denies 1 of 3 Pods the port 80/,
    ),
    seen: 'of 3 Pods that were judged, the rule denies 1: pod/shop/cart-1',
  },
  {
    what: 'a ClusterNetworkPolicy with a rule that cannot be read, so that it denies',
    spoil: (cluster) => {
      cluster.clusternetworkpolicies.push(fence({ ...DENY, from: [{ nodes: {} }] }))
    },
    finding: finding(
      'unreadable-cluster-policy',
      'clusternetworkpolicy/fence',
      /spec.ingress\[0\].from\[0\] is \{"nodes":\{\}\}: it must have exactly one of/,
    ),
    seen: 'its rule ingress[0] "keep-out" denies connections to service/shop/web',
  },
  {
    what: 'a ClusterNetworkPolicy with a subject that cannot be read',
    spoil: (cluster) => {
      const spec = { ...(fence(DENY)['spec'] as JsonObject), subject: { everything: true } }
      cluster.clusternetworkpolicies.push({ metadata: { name: 'fence' }, spec })
    },
    finding: finding(
      'unreadable-cluster-policy',
      'clusternetworkpolicy/fence',
      /until then the policy applies to no Pod/,
    ),
  },
  {
    what: 'a ClusterNetworkPolicy for a namespace with a slip',
    spoil: (cluster) => {
      const subject = { namespaces: { matchLabels: { 'kubernetes.io/metadata.name': 'shpo' } } }
      const spec = { ...(fence(DENY)['spec'] as JsonObject), subject }
      cluster.clusternetworkpolicies.push({ metadata: { name: 'fence' }, spec })
    },
    finding: finding(
      'policy-selects-nothing',
      'clusternetworkpolicy/fence',
      'its subject selects namespaces by kubernetes.io/metadata.name=shpo, and there is none',
    ),
    seen: 'namespace/shop has kubernetes.io/metadata.name="shop" instead of "shpo"',
  },
  {
    what: 'a NetworkPolicy for clients of a namespace with a slip',
    spoil: (cluster) => {
      const from = [
        { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'kube-systen' } } },
      ]
      cluster.networkpolicies.push(policy({ podSelector: {}, ingress: [{ from }] }))
    },
    finding: finding(
      'policy-selects-nothing',
      'networkpolicy/shop/closed',
      /its rule ingress\[0\] selects namespaces by .*=kube-systen/,
    ),
  },
  {
    what: 'a NetworkPolicy that a node does not enforce',
    spoil: (cluster) => void cluster.networkpolicies.push(policy(OPEN)),
    more: {
      enforcement: [
        { node: 'node-a', state: 'not enforced: namespaces is forbidden' },
        { node: 'node-b', state: '1 policies isolate 2 addresses of pods' },
        { node: 'node-c', state: 'not enforced: namespaces is forbidden' },
      ],
    },
    finding: finding('policies-not-enforced', 'node/node-a', /it: namespaces is forbidden$/),
    seen: 'the same on 1 more node',
  },
  {
    what: 'ClusterNetworkPolicies that a node does not read',
    spoil: (cluster) =>
      void cluster.clusternetworkpolicies.push(fence({ ...DENY, action: 'Accept' })),
    more: {
      enforcement: [
        {
          node: 'node-a',
          state:
            '1 policies isolate 2 addresses of pods; ClusterNetworkPolicies are not read: it is forbidden',
        },
      ],
    },
    finding: finding(
      'policies-not-enforced',
      'node/node-a',
      'nothing enforces 1 ClusterNetworkPolicies of the cluster on it: it is forbidden',
    ),
  },
  {
    what: 'an external address of two Services',
    spoil: (cluster) => {
      webIs({ externalIPs: ['192.0.2.7'] })(cluster)
      cluster.services.push(service('also', {}, { externalIPs: ['192.0.2.7'] }))
      cluster.services.at(-1)!['spec'] = {
        selector: { app: 'web' },
        ports: [{ port: 80, targetPort: 'http' }],
        externalIPs: ['192.0.2.7'],
      }
      const [slice] = cluster.endpointslices
      const labels = { 'kubernetes.io/service-name': 'also' }
      cluster.endpointslices.push({ ...slice, metadata: { namespace: 'shop', name: 'a', labels } })
    },
    finding: finding(
      'address-conflict',
      'service/shop/web',
      '192.0.2.7:80/TCP belongs to service/shop/also',
    ),
  },
  {
    what: 'a load balancer that nothing provides',
    spoil: webIs({ type: 'LoadBalancer' }),
    finding: finding('load-balancer-pending', 'service/shop/web', /has no address/),
    seen: 'no controller has reported',
  },
  {
    what: 'source ranges that cannot be read',
    spoil: (cluster) => {
      webIs(
        { type: 'LoadBalancer' },
        { status: { loadBalancer: { ingress: [{ ip: '192.0.2.9' }] } } },
      )(cluster)
      const key = 'service.beta.kubernetes.io/load-balancer-source-ranges'
      const annotations = { [key]: 'office' }
      cluster.services[0]!['metadata'] = { namespace: 'shop', name: 'web', annotations }
    },
    finding: finding('source-ranges', 'service/shop/web', /no range that can be read/),
    seen: '"office"',
  },
  {
    what: 'source ranges of the other family',
    spoil: webIs(
      {
        type: 'LoadBalancer',
        ipFamilies: ['IPv4'],
        loadBalancerSourceRanges: ['2001:db8::/32'],
      },
      { status: { loadBalancer: { ingress: [{ ip: '192.0.2.9' }] } } },
    ),
    finding: finding('source-ranges', 'service/shop/web', /no range of IPv4/),
  },
  {
    what: 'externalTrafficPolicy Local, with endpoints of no node',
    spoil: (cluster) => {
      webIs({ type: 'NodePort', externalTrafficPolicy: 'Local' })(cluster)
      cluster.nodes = [node('node-b')]
    },
    finding: finding('local-policy', 'service/shop/web', /no node has a ready endpoint/),
    seen: 'endpoint 10.0.0.1 is on node-a',
  },
  {
    what: 'externalTrafficPolicy Local of the inspected Service',
    spoil: (cluster) => {
      webIs({ type: 'NodePort', externalTrafficPolicy: 'Local' })(cluster)
      cluster.nodes.push(node('node-b'))
    },
    inspected: web,
    finding: finding('local-policy', 'service/shop/web', 'node-b drop its external traffic'),
  },
  {
    what: 'internalTrafficPolicy Local, with clients elsewhere',
    spoil: (cluster) => {
      webIs({ internalTrafficPolicy: 'Local' })(cluster)
      cluster.pods.push(pod('client', { app: 'client' }, { nodeName: 'node-b' }))
    },
    finding: finding('local-policy', 'service/shop/web', /on node-b it has no ready endpoint/),
    seen: 'pod/shop/client runs on node-b',
  },
  {
    what: 'a token Secret without a token',
    spoil: (cluster) => void cluster.secrets.push(tokenSecret('', {})),
    finding: finding('token-secret', 'secret/shop/robot-token', 'it is for a token, and has none'),
  },
  {
    what: 'a token Secret of a deleted account',
    spoil: (cluster) => void cluster.secrets.push(tokenSecret('old', { token: '' })),
    finding: finding('token-secret', 'secret/shop/robot-token', /was deleted/),
    seen: 'the uid old',
  },
  {
    what: 'a token for others where clients look for theirs',
    spoil: firstPod({
      containers: [{ name: 'main', volumeMounts: [apiMount] }],
      volumes: [
        { name: 'own', projected: { sources: [{ serviceAccountToken: { audience: 'vault' } }] } },
      ],
    }),
    more: {
      server: { issuer: 'https://a', audiences: ['https://a'], rejectedAudiences: ['vault'] },
    },
    finding: finding('api-token', 'pod/shop/web-1', /is for "vault", and is rejected/),
  },
  {
    what: 'a token for an audience of which nothing is known, in the inspected Pod',
    spoil: firstPod({
      containers: [{ name: 'main', volumeMounts: [apiMount] }],
      volumes: [
        { name: 'own', projected: { sources: [{ serviceAccountToken: { audience: 'vault' } }] } },
      ],
    }),
    inspected: webPod,
    more: { server: { issuer: 'https://a', audiences: ['https://a'] } },
    finding: finding('api-token', 'pod/shop/web-1', /which is not the issuer of that server/),
    seen: 'could not be queried',
  },
  {
    what: 'no token in the inspected Pod',
    spoil: firstPod({ automountServiceAccountToken: false }),
    inspected: webPod,
    finding: finding('api-token', 'pod/shop/web-1', /automountServiceAccountToken of the Pod/),
  },
  {
    what: 'the resolver of the node in the inspected Pod',
    spoil: firstPod({ hostNetwork: true }),
    inspected: webPod,
    finding: finding('pod-dns', 'pod/shop/web-1', /the servers of its node/),
    seen: 'hostNetwork',
  },
  {
    what: 'session affinity of the inspected Service',
    spoil: (cluster) => spreadWithAffinity(cluster),
    inspected: web,
    finding: finding('session-affinity', 'service/shop/web', /one of 2 endpoints for 10800 s/),
  },
  {
    what: 'unbalanced counters with session affinity',
    spoil: (cluster) => spreadWithAffinity(cluster),
    more: {
      traffic: [
        {
          node: 'node-a',
          service: 'shop/web',
          backends: [
            { backend: '10.0.0.1:8080', connections: 90 },
            { backend: '10.0.0.2:8080', connections: 10 },
          ],
        },
      ],
    },
    finding: finding('session-affinity', 'service/shop/web', /ClientIP/),
    seen: 'on node-a, 10.0.0.1:8080 got 90 of 100 connections',
  },
  {
    what: 'a Deployment without replicas, of the inspected Service',
    spoil: (cluster) => scaleToZero(cluster),
    inspected: web,
    finding: finding('scaled-to-zero', 'deployment/shop/web', /has 0 replicas/),
  },
  {
    what: 'a StatefulSet without replicas, of the inspected Service',
    spoil: (cluster) => {
      scaleToZero(cluster)
      cluster.statefulsets.push(...cluster.deployments.splice(0))
    },
    inspected: web,
    finding: finding('scaled-to-zero', 'statefulset/shop/web', /the StatefulSet web has 0/),
  },
  {
    what: 'a Deployment for an account that is not there, so without Pods',
    spoil: (cluster) => {
      const metadata = { namespace: 'shop', name: 'web' }
      const template = { metadata: {}, spec: { serviceAccountName: 'gone' } }
      cluster.deployments.push({ kind: 'Deployment', metadata, spec: { template } })
    },
    finding: finding('missing-account', 'serviceaccount/shop/gone', /shop\/gone does not exist/),
    seen: 'deployment/web cannot create Pods',
  },
  {
    what: 'a pool of load balancers that is exhausted',
    spoil: webIs({ type: 'LoadBalancer' }, { status: { conditions: [EXHAUSTED] } }),
    finding: finding('load-balancer-pending', 'service/shop/web', /no pool has an address left/),
    seen: 'No pool has an IPv4 address left.',
  },
  {
    what: 'a load balancer that keeps an address and cannot have the one that it requests',
    spoil: webIs(
      { type: 'LoadBalancer', loadBalancerIP: '192.0.2.9' },
      {
        status: {
          loadBalancer: { ingress: [{ ip: '192.0.2.8' }] },
          conditions: [{ ...EXHAUSTED, reason: 'AddressInUse', message: 'It belongs to shop/a.' }],
        },
      },
    ),
    finding: finding(
      'load-balancer-pending',
      'service/shop/web',
      /with the address 192\.0\.2\.8, and the address that it requests belongs to another Service/,
    ),
    seen: 'It belongs to shop/a.',
  },
  ...(
    [
      [{ type: 'Opaque', data: {} }, /its type is Opaque/],
      [{ type: 'kubernetes.io/dockerconfigjson', data: {} }, /has no key .dockerconfigjson/],
      [
        {
          type: 'kubernetes.io/dockerconfigjson',
          data: { '.dockerconfigjson': '' },
          registries: ['https://index.docker.io/v1/'],
        },
        /and none for registry.example.com/,
      ],
    ] satisfies readonly (readonly [JsonObject, RegExp])[]
  ).map(
    ([secret, cause]): DoctorCase => ({
      what: `a pull secret: ${cause.source}`,
      spoil: (cluster) => {
        const metadata = { namespace: 'shop', name: 'pull' }
        cluster.secrets.push({ kind: 'Secret', metadata, ...structuredClone(secret) })
        const image = 'registry.example.com/web:1'
        const spec = { containers: [{ name: 'main', image }], imagePullSecrets: [{ name: 'pull' }] }
        const state = { waiting: { reason: 'ErrImagePull' } }
        cluster.pods[0] = {
          ...pod('web-1', { app: 'web' }, spec),
          status: { phase: 'Pending', containerStatuses: [{ name: 'main', state }] },
        }
      },
      finding: finding('image-pull', 'pod/shop/web-1', cause),
    }),
  ),
]

function tokenSecret(uid: string, data: JsonObject): JsonObject {
  const prefix = 'kubernetes.io/service-account'
  const annotations = { [`${prefix}.name`]: 'robot', ...(uid !== '' && { [`${prefix}.uid`]: uid }) }
  const metadata = { namespace: 'shop', name: 'robot-token', annotations }
  return { kind: 'Secret', type: `${prefix}-token`, metadata, data }
}

function spreadWithAffinity(cluster: Objects): void {
  webIs({ sessionAffinity: 'ClientIP' })(cluster)
  cluster.endpointslices[0]!['endpoints'] = ['10.0.0.1', '10.0.0.2'].map((address) => ({
    addresses: [address],
    nodeName: 'node-a',
  }))
}

/** The Service has no Pods, and no finding unless it is inspected. */
export function scaleToZero(cluster: Objects): void {
  cluster.pods.splice(0, 2)
  cluster.endpointslices.shift()
  const template = { metadata: { labels: { app: 'web' } } }
  const metadata = { namespace: 'shop', name: 'web' }
  cluster.deployments.push({ kind: 'Deployment', metadata, spec: { replicas: 0, template } })
}
