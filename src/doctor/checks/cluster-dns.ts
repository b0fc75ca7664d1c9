import { arrayAt, type JsonObject, scalarText, stringAt, valueAt } from '../../lib/json.ts'
import { readPodDns } from '../../resources/pod-dns.ts'
import type { ClusterEvidence } from '../evidence/cluster-evidence.ts'
import { checkOfEach, type Finding } from '../evidence/finding.ts'
import { isInspected } from '../evidence/inspected-object.ts'
import { keyOf, nameOf, namespaceOf } from '../evidence/objects.ts'

/** The Service of the cluster's DNS has no ready endpoint: no name resolves in any Pod. */
export const clusterDns = checkOfEach('services', 'cluster-dns', (service, evidence) => {
  if (!evidence.has('endpointslices') || !isClusterDns(service)) return []
  if (evidence.readyEndpointsOf(service) > 0) return []
  return [
    {
      symptom: 'DNS resolution fails',
      cause: `the Service of the cluster's DNS, ${keyOf(service)}, has no ready endpoint`,
      evidence: [
        `${evidence.slicesOf(service).length} EndpointSlices have its label, none with a ready endpoint`,
      ],
      remedy: 'repair the Pods of DNS; until then, connect to addresses',
      commands: [`orchctl -n ${namespaceOf(service)} get pods -o wide`],
    },
  ]
})

const NAMES = new Set(['cluster-dns', 'kube-dns', 'coredns'])
const DNS_PORT = 53

/** Whether a Service is that of the DNS of the cluster. */
function isClusterDns(service: JsonObject): boolean {
  const ports = arrayAt(service, 'spec', 'ports').map((port) => valueAt(port, 'port'))
  const isSystem = ['kube-system', 'orch-system'].includes(namespaceOf(service))
  return isSystem && NAMES.has(stringAt(service, 'metadata', 'name')) && ports.includes(DNS_PORT)
}

/** The inspected Pod does not query the DNS of the cluster, or does not complete names. Other Pods may intend that. */
export const podDns = checkOfEach('pods', 'pod-dns', (pod, evidence, inspected) => {
  if (!isInspected('pod', pod, inspected)) return []
  const wrong = resolverProblem(pod, evidence)
  if (wrong === undefined) return []
  const policy = stringAt(pod, 'spec', 'dnsPolicy') || 'ClusterFirst'
  return [
    {
      symptom: 'DNS resolution fails',
      ...wrong,
      evidence: [`its dnsPolicy is ${policy}`, ...wrong.evidence],
      commands: [
        `orchctl -n ${namespaceOf(pod)} resolve kubernetes.default --from pod/${nameOf(pod)}`,
        `orchctl -n ${namespaceOf(pod)} get pod ${nameOf(pod)} -o yaml`,
      ],
    },
  ]
})

type Wrong = Pick<Finding, 'cause' | 'evidence' | 'remedy'>

function resolverProblem(pod: JsonObject, evidence: ClusterEvidence): Wrong | undefined {
  const { policy, config } = readPodDns(pod)
  const isOnHost = valueAt(pod, 'spec', 'hostNetwork') === true
  if (policy === 'node') {
    return {
      cause: 'it queries the servers of its node, which do not know names of Services',
      evidence: isOnHost ? ['it is on the network of its node (hostNetwork)'] : [],
      remedy: `set dnsPolicy to ${isOnHost ? 'ClusterFirstWithHostNet' : 'ClusterFirst'}`,
    }
  }
  const { clusterDomain } = evidence
  const servers = dnsAddresses(evidence)
  const isOfCluster = config.nameservers.some((one) => servers.includes(one))
  if (policy === 'none' && servers.length > 0 && !isOfCluster) {
    return {
      cause: `its dnsConfig names ${config.nameservers.join(', ') || 'no server'}, and not the DNS of the cluster`,
      evidence: [`the DNS of the cluster has ${servers.join(', ')}`],
      remedy: 'remove dnsPolicy None, or name the DNS of the cluster in dnsConfig.nameservers',
    }
  }
  const hasSearch = config.searches.some((one) => /(?:^|\.)svc\./.test(one))
  if (policy === 'none' && !hasSearch) {
    return {
      cause: 'its search list has no domain of Services: only complete names resolve',
      evidence: [`its dnsConfig.searches are ${config.searches.join(', ') || 'empty'}`],
      remedy: `add ${namespaceOf(pod)}.svc.${clusterDomain} and svc.${clusterDomain} to dnsConfig.searches`,
    }
  }
  return config.options.get('ndots') === '0'
    ? {
        cause: 'ndots is 0: names such as web are queried as they are, before the search list',
        evidence: [],
        remedy: 'remove ndots from dnsConfig.options (the default is 5)',
      }
    : undefined
}

function dnsAddresses(evidence: ClusterEvidence): readonly string[] {
  const services = evidence.all('services').filter(isClusterDns)
  return services.flatMap((service) => arrayAt(service, 'spec', 'clusterIPs').map(scalarText))
}
