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
