import type { JsonObject } from '../../lib/json.ts'
import { SERVICE_NAME } from '../../resources/label-names.ts'
import {
  ClusterEvidence,
  type EvidenceKind,
  type EvidenceObjects,
  type FurtherEvidence,
} from '../evidence/cluster-evidence.ts'

/** The objects of a small cluster in which everything works; a test breaks one thing. */
export type Objects = Record<EvidenceKind, JsonObject[]>

const RBAC = 'rbac.authorization.k8s.io/v1'
const object = (kind: string, namespace: string, name: string, rest: JsonObject): JsonObject => ({
  apiVersion: 'v1',
  kind,
  metadata: { name, ...(namespace !== '' && { namespace }) },
  ...rest,
})

/** A Pod that is ready. */
export function pod(
  name: string,
  labels: JsonObject = { app: 'web' },
  spec: JsonObject = {},
): JsonObject {
  const ports = [{ name: 'http', containerPort: 8080 }]
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace: 'shop', name, labels },
    spec: { nodeName: 'node-a', containers: [{ name: 'main', ports }], ...spec },
    status: {
      phase: 'Running',
      conditions: [{ type: 'Ready', status: 'True' }],
      containerStatuses: [{ name: 'main', ready: true, restartCount: 0, state: { running: {} } }],
    },
  }
}

/** A Service that selects these Pods. */
export function service(
  name: string,
  selector: JsonObject = { app: 'web' },
  spec: JsonObject = {},
): JsonObject {
  const ports = [{ name: 'web', port: 80, targetPort: 'http' }]
  return object('Service', 'shop', name, { spec: { selector, ports, ...spec } })
}

/** Its EndpointSlice with one endpoint. */
export function slice(namespace: string, ofService: string, ready = true): JsonObject {
  const labels = { [SERVICE_NAME]: ofService }
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { namespace, name: `${ofService}-1`, labels },
    endpoints: [{ addresses: ['10.0.0.1'], nodeName: 'node-a', conditions: { ready } }],
  }
}

/** The cluster; each call makes a new one. */
export function healthyCluster(): Objects {
  const subjects = [{ kind: 'ServiceAccount', namespace: 'shop', name: 'robot' }]
  const dns = { spec: { selector: { app: 'dns' }, ports: [{ port: 53 }] } }
  const dnsPod = pod('dns-1', { app: 'dns' })
  return {
    services: [service('web'), object('Service', 'kube-system', 'cluster-dns', dns)],
    endpointslices: [slice('shop', 'web'), slice('kube-system', 'cluster-dns')],
    pods: [
      pod('web-1'),
      pod('web-2'),
      { ...dnsPod, metadata: { namespace: 'kube-system', name: 'dns-1', labels: { app: 'dns' } } },
    ],
    events: [],
    serviceaccounts: [
      object('ServiceAccount', 'shop', 'default', {}),
      object('ServiceAccount', 'shop', 'robot', {}),
      object('ServiceAccount', 'kube-system', 'default', {}),
    ],
    secrets: [
      object('Secret', 'shop', 'registry', {
        type: 'kubernetes.io/dockerconfigjson',
        data: { '.dockerconfigjson': '' },
        registries: ['registry.example.com'],
      }),
    ],
    roles: [object('Role', 'shop', 'reader', { apiVersion: RBAC })],
    clusterroles: [object('ClusterRole', '', 'view', { apiVersion: RBAC })],
    rolebindings: [
      object('RoleBinding', 'shop', 'robot-reads', {
        roleRef: { kind: 'Role', name: 'reader' },
        subjects,
      }),
    ],
    clusterrolebindings: [
      object('ClusterRoleBinding', '', 'robot-views', {
        roleRef: { kind: 'ClusterRole', name: 'view' },
        subjects,
      }),
    ],
    nodes: [node('node-a')],
    networkpolicies: [],
    clusternetworkpolicies: [],
    namespaces: ['shop', 'kube-system'].map(namespace),
    deployments: [],
    statefulsets: [],
  }
}

/** A Namespace with the label that it always has. */
export function namespace(name: string): JsonObject {
  const labels = { 'kubernetes.io/metadata.name': name }
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } }
}

/** A Node that is ready. */
export function node(name: string): JsonObject {
  return object('Node', '', name, { status: { conditions: [{ type: 'Ready', status: 'True' }] } })
}

/** The evidence of these objects, as checks read it. */
export function evidenceOf(objects: EvidenceObjects, more: FurtherEvidence = {}): ClusterEvidence {
  return new ClusterEvidence(objects, more)
}
