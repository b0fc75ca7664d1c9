import type { JsonObject } from '../../lib/json.ts'
import { SERVICE_NAME } from '../../resources/label-names.ts'
import { DNS_IP, NODE_IP } from '../network/plan.ts'

const DNS = { namespace: 'kube-system', name: 'cluster-dns' } as const
const READER = { namespace: 'default', name: 'service-reader' } as const
const RBAC = 'rbac.authorization.k8s.io'

const DNS_PORTS = ['UDP', 'TCP'].map((protocol) => ({
  ...{ name: protocol.toLowerCase(), protocol, port: 53 },
}))

/** The Service of DNS, behind which is orch-server itself: node-proxy forwards the questions of pods, too. */
const dnsService: JsonObject = {
  ...{ apiVersion: 'v1', kind: 'Service', metadata: DNS },
  spec: { clusterIP: DNS_IP, ports: DNS_PORTS },
}

const dnsEndpoints: JsonObject = {
  ...{ apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', addressType: 'IPv4' },
  metadata: { ...DNS, labels: { [SERVICE_NAME]: DNS.name } },
  endpoints: [{ addresses: [NODE_IP], conditions: { ready: true } }],
  ports: DNS_PORTS,
}

/** What the account of the pods may do: see Services, and nothing else. */
const role: JsonObject = {
  ...{ apiVersion: `${RBAC}/v1`, kind: 'Role', metadata: READER },
  rules: [{ apiGroups: [''], resources: ['services'], verbs: ['get', 'list', 'watch'] }],
}

const roleBinding: JsonObject = {
  ...{ apiVersion: `${RBAC}/v1`, kind: 'RoleBinding', metadata: READER },
  roleRef: { apiGroup: RBAC, kind: 'Role', name: READER.name },
  subjects: [{ kind: 'ServiceAccount', namespace: 'default', name: 'default' }],
}

/** What a cluster has beside the objects of examples. */
export const SYSTEM_OBJECTS: readonly JsonObject[] = [dnsService, dnsEndpoints, role, roleBinding]
