import { arrayAt, type JsonObject, stringAt, valueAt } from '../../lib/json.ts'
import type { Check } from '../evidence/finding.ts'
import { keyOf, namespaceOf } from '../evidence/objects.ts'

/** The Service of the cluster's DNS has no ready endpoint: no name resolves in any Pod. */
export const clusterDns: Check = {
  name: 'cluster-dns',
  find: (evidence) => {
    if (!evidence.has('services', 'endpointslices')) return []
    const failed = evidence
      .all('services')
      .filter((service) => isClusterDns(service) && evidence.readyEndpointsOf(service) === 0)
    return failed.map((service) => ({
      check: clusterDns.name,
      symptom: 'DNS resolution fails',
      object: `service/${keyOf(service)}`,
      affects: [],
      cause: `the Service of the cluster's DNS, ${keyOf(service)}, has no ready endpoint`,
      evidence: [
        `${evidence.slicesOf(service).length} EndpointSlices have its label, none with a ready endpoint`,
      ],
      remedy: 'repair the Pods of DNS; until then, connect to addresses',
      commands: [`orchctl -n ${namespaceOf(service)} get pods -o wide`],
    }))
  },
}

const NAMES = new Set(['cluster-dns', 'kube-dns', 'coredns'])
const DNS_PORT = 53

/** Whether a Service is that of the DNS of the cluster. */
export function isClusterDns(service: JsonObject): boolean {
  const ports = arrayAt(service, 'spec', 'ports').map((port) => valueAt(port, 'port'))
  const isSystem = ['kube-system', 'orch-system'].includes(namespaceOf(service))
  return isSystem && NAMES.has(stringAt(service, 'metadata', 'name')) && ports.includes(DNS_PORT)
}
