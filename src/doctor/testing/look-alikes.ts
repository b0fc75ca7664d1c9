import type { JsonObject } from '../../lib/json.ts'
import type { FurtherEvidence } from '../evidence/cluster-evidence.ts'
import { type Objects, pod, service } from './healthy-cluster.ts'

/** A change of a healthy cluster that looks like a cause, but breaks nothing. */
export interface LookAlike {
  readonly what: string
  readonly change: (cluster: Objects) => void
  readonly more?: FurtherEvidence
}

const SERVER = { issuer: 'https://a', audiences: ['https://a'], rejectedAudiences: ['vault'] }
const FOLDER = '/var/run/secrets/kubernetes.io/serviceaccount'

function mounted(audience: string, mountPath: string): JsonObject {
  return {
    containers: [{ name: 'main', volumeMounts: [{ name: 'own', mountPath }] }],
    volumes: [{ name: 'own', projected: { sources: [{ serviceAccountToken: { audience } }] } }],
  }
}

/** Another Service for the same Pods, with the slice of `web` as its own. */
function addService(cluster: Objects, name: string, spec: JsonObject, status: JsonObject): void {
  cluster.services.push({ ...service(name, { app: 'web' }, spec), status })
  const metadata = { namespace: 'shop', name, labels: { 'kubernetes.io/service-name': name } }
  cluster.endpointslices.push({ ...cluster.endpointslices[0], metadata })
}

const SHOP = { namespaces: { matchLabels: { 'kubernetes.io/metadata.name': 'shop' } } }

function at(podIP: string, one: JsonObject): JsonObject {
  return { ...one, status: { ...(one['status'] as JsonObject), podIP } }
}

function clusterPolicy(cluster: Objects, rest: JsonObject): void {
  const spec = { tier: 'Admin', priority: 1, subject: { namespaces: {} }, ...rest }
  cluster.clusternetworkpolicies.push({ metadata: { name: 'fence' }, spec })
}

/** A less careful check would report each of them. */
export const LOOK_ALIKES: readonly LookAlike[] = [
  {
    what: 'two headless Services with one port',
    change: (cluster) => {
      for (const name of ['one', 'two']) {
        addService(cluster, name, { clusterIP: 'None', clusterIPs: ['None'] }, {})
      }
    },
  },
  {
    what: 'two Services behind one proxy of a provider',
    change: (cluster) => {
      const ingress = [{ ip: '192.0.2.9', ipMode: 'Proxy' }]
      for (const name of ['one', 'two']) {
        addService(cluster, name, { type: 'LoadBalancer' }, { loadBalancer: { ingress } })
      }
    },
  },
  {
    what: 'a token for others at a path of its own',
    change: (cluster) => {
      cluster.pods[0] = pod('web-1', { app: 'web' }, mounted('vault', '/vault'))
    },
    more: { server: SERVER },
  },
  {
    what: 'a token without an audience, so for the API server',
    change: (cluster) => {
      cluster.pods[0] = pod('web-1', { app: 'web' }, mounted('', FOLDER))
    },
    more: { server: SERVER },
  },
  {
    what: 'a token for others in a Pod that has ended',
    change: (cluster) => {
      const ended = pod('job-1', { app: 'job' }, mounted('vault', FOLDER))
      cluster.pods.push({ ...ended, status: { phase: 'Succeeded' } })
    },
    more: { server: SERVER },
  },
  {
    what: 'a binding that the server makes for accounts that come later',
    change: (cluster) => {
      const labels = { 'kubernetes.io/bootstrapping': 'rbac-defaults' }
      cluster.clusterrolebindings[0] = {
        metadata: { name: 'system:later', labels },
        roleRef: { kind: 'ClusterRole', name: 'view' },
        subjects: [{ kind: 'ServiceAccount', namespace: 'kube-system', name: 'later' }],
      }
    },
  },
  {
    what: 'a binding for two accounts, one of which is there',
    change: (cluster) => {
      const subjects = ['robot', 'later'].map((name) => ({
        kind: 'ServiceAccount',
        namespace: 'shop',
        name,
      }))
      cluster.rolebindings[0] = { ...cluster.rolebindings[0], subjects }
    },
  },
  {
    what: 'an externalName that its Service does not use',
    change: (cluster) => {
      cluster.services[0] = service('web', { app: 'web' }, { externalName: '192.0.2.1' })
    },
  },
  {
    what: 'an ExternalName in a namespace that was not read, or of another domain',
    change: (cluster) => {
      for (const [name, externalName] of [
        ['far', 'web.far.svc.cluster.local'],
        ['other', 'gone.shop.svc.example.org'],
        ['outside', 'gone.shop.example.cluster.local'],
      ] as const) {
        cluster.services.push(service(name, {}, { type: 'ExternalName', externalName }))
      }
    },
  },
  {
    what: 'a load balancer that is reached by externalIPs',
    change: (cluster) =>
      addService(cluster, 'lb', { type: 'LoadBalancer', externalIPs: ['192.0.2.9'] }, {}),
  },
  {
    what: 'a ClusterNetworkPolicy with Pods that could be started and are accepted',
    change: (cluster) => {
      const peer = { namespaceSelector: {}, podSelector: { matchLabels: { app: 'probe' } } }
      const ingress = [
        { action: 'Accept', from: [{ pods: peer }] },
        { action: 'Deny', from: [{ namespaces: {} }] },
      ]
      clusterPolicy(cluster, { ingress })
    },
  },
  {
    what: 'a ClusterNetworkPolicy that leaves the own namespace to a NetworkPolicy',
    change: (cluster) => {
      const own = { namespaces: { matchLabels: { 'kubernetes.io/metadata.name': 'shop' } } }
      const ingress = [
        { action: 'Pass', from: [own] },
        { action: 'Deny', from: [{ namespaces: {} }] },
      ]
      clusterPolicy(cluster, { ingress, subject: own })
      const spec = { podSelector: {}, ingress: [{ from: [{ podSelector: {} }] }] }
      cluster.networkpolicies.push({ metadata: { namespace: 'shop', name: 'own' }, spec })
    },
  },
  {
    what: 'a NetworkPolicy without rules, before which the tier Admin accepts',
    change: (cluster) => {
      clusterPolicy(cluster, { ingress: [{ action: 'Accept', from: [{ namespaces: {} }] }] })
      const metadata = { namespace: 'shop', name: 'closed' }
      cluster.networkpolicies.push({ metadata, spec: { podSelector: {} } })
    },
  },
  {
    what: 'a ClusterNetworkPolicy whose Pods are on the network of their node',
    change: (cluster) => {
      cluster.pods = cluster.pods.map((one, at) =>
        at < 2 ? pod(`web-${at + 1}`, { app: 'web' }, { hostNetwork: at === 0 }) : one,
      )
      const own = { namespaces: { matchLabels: { 'kubernetes.io/metadata.name': 'shop' } } }
      clusterPolicy(cluster, {
        subject: own,
        ingress: [{ action: 'Deny', from: [{ namespaces: {} }] }],
      })
    },
  },
  {
    what: 'a ClusterNetworkPolicy that leaves a client to a NetworkPolicy, which admits its address',
    change: (cluster) => {
      cluster.pods.push(at('10.1.0.1', pod('client-1', { app: 'client' })))
      cluster.pods.push(at('10.2.0.1', pod('client-2', { app: 'client' })))
      const matchExpressions = [{ key: 'app', operator: 'NotIn', values: ['client'] }]
      const from = [{ pods: { podSelector: { matchExpressions } } }]
      clusterPolicy(cluster, { subject: SHOP, ingress: [{ action: 'Deny', from }] })
      const peers = [
        { ipBlock: { cidr: '10.2.0.0/16' } },
        { podSelector: { matchLabels: { app: 'web' } } },
      ]
      const metadata = { namespace: 'shop', name: 'some' }
      cluster.networkpolicies.push({
        metadata,
        spec: { podSelector: {}, ingress: [{ from: peers }] },
      })
    },
  },
  {
    what: 'a ClusterNetworkPolicy that denies the address of one of two Pods',
    change: (cluster) => {
      cluster.pods = cluster.pods.map((one, index) => at(`10.0.0.${index + 1}`, one))
      const egress = [{ action: 'Deny', to: [{ networks: ['10.0.0.2/32'] }] }]
      clusterPolicy(cluster, { egress })
    },
  },
  {
    what: 'a ClusterNetworkPolicy for a namespace that has neither of its labels',
    change: (cluster) => {
      const matchLabels = { 'kubernetes.io/metadata.name': 'shpo', team: 'shop' }
      const subject = { namespaces: { matchLabels } }
      clusterPolicy(cluster, { subject, ingress: [] })
    },
  },
  {
    what: 'nodes that do not enforce policies, of which there are none',
    change: () => {},
    more: {
      enforcement: [
        { node: 'node-a', state: 'not enforced: the kernel has no nf_tables' },
        {
          node: 'node-b',
          state: '0 policies isolate 0 addresses of pods; ClusterNetworkPolicies are not read: no',
        },
      ],
    },
  },
  {
    what: 'a ClusterNetworkPolicy for a namespace that may come later',
    change: (cluster) => {
      const subject = { namespaces: { matchLabels: { 'kubernetes.io/metadata.name': 'later' } } }
      clusterPolicy(cluster, {
        subject,
        ingress: [{ action: 'Deny', from: [{ namespaces: {} }] }],
      })
    },
  },
  {
    what: 'policies that another program enforces, or that nothing is to enforce',
    change: (cluster) =>
      clusterPolicy(cluster, { ingress: [{ action: 'Accept', from: [{ namespaces: {} }] }] }),
    more: {
      enforcement: [
        {
          node: 'node-a',
          state:
            'not enforced: another program on this node enforces them: Calico (chain cali-FORWARD)',
        },
        { node: 'node-b', state: 'not enforced: networkPolicy.enforce is false' },
        { node: 'node-c', state: 'not enforced yet: the API is being listed' },
        { node: 'node-d', state: '' },
      ],
    },
  },
]
