import { type IpAddress, parseIp } from '../../lib/ip.ts'
import { arrayAt, type JsonObject, scalarText, stringAt, valueAt } from '../../lib/json.ts'
import {
  formatResolvConf,
  parseResolvConf,
  podResolvConf,
  type ResolvConf,
  readPodDns,
} from '../../resources/pod-dns.ts'
import type { Api } from '../session/api.ts'
import type { ShownResolver } from './resolution.ts'

/** The DNS server of the cluster, as its Service shows it. */
export interface ClusterServer {
  readonly addresses: readonly IpAddress[]
  /** `namespace/name` of the Service; empty: none was found. */
  readonly service: string
}

/** The Services that the DNS server of the cluster may have: by our manifest, and in Kubernetes. */
const SERVER_SERVICES = [
  'kube-system/cluster-dns',
  'orch-system/cluster-dns',
  'kube-system/kube-dns',
]
const NO_FILE: ResolvConf = parseResolvConf('')
/** Stands for the server of the cluster if its address is not known; not shown in the file. */
const UNKNOWN_SERVER = 'unknown'

/** Finds the server of the cluster by its Service, if the caller may read it. */
export async function findClusterServer(api: Api): Promise<ClusterServer> {
  const reads = SERVER_SERVICES.map(async (service) => {
    const [namespace, name] = service.split('/')
    const answer = await api.request({ path: `/api/v1/namespaces/${namespace}/services/${name}` })
    const addresses = answer.ok ? addressesOf(answer.value.body) : []
    return { service, addresses }
  })
  const found = (await Promise.all(reads)).find(({ addresses }) => addresses.length > 0)
  return found ?? { service: '', addresses: [] }
}

function addressesOf(service: JsonObject): readonly IpAddress[] {
  const all = [valueAt(service, 'spec', 'clusterIP'), ...arrayAt(service, 'spec', 'clusterIPs')]
  const ips = all.flatMap((text) => (typeof text === 'string' ? (parseIp(text) ?? []) : []))
  return [...new Set(ips)]
}

/** A resolver, and the resolv.conf by which it searches. */
export interface PodResolver {
  readonly file: ResolvConf
  readonly shown: ShownResolver
}

/**
 * The resolver that the node gives a Pod, without the node's own servers and search list, which only the node knows.
 */
export function podResolver(pod: JsonObject, domain: string, server: ClusterServer): PodResolver {
  const dns = readPodDns(pod)
  const nameservers = server.addresses.length > 0 ? server.addresses : [UNKNOWN_SERVER]
  const cluster = { nameservers, domain, hostFile: '' }
  const file = parseResolvConf(formatResolvConf(podResolvConf(dns, cluster, NO_FILE)))
  const isOfCluster = file.nameservers.some((one) => server.addresses.some((ip) => ip === one))
  const servers = {
    cluster: 'cluster',
    node: 'node',
    none: isOfCluster ? 'cluster' : 'pod',
  } as const
  const metadata = (field: string): string => stringAt(pod, 'metadata', field)
  const kind = servers[dns.policy]
  return {
    file,
    shown: {
      pod: metadata('name') === '' ? '' : `${metadata('namespace')}/${metadata('name')}`,
      node: stringAt(pod, 'spec', 'nodeName'),
      dnsPolicy: stringAt(pod, 'spec', 'dnsPolicy') || 'ClusterFirst',
      servers: kind,
      nameservers: [...file.nameservers],
      searches: [...file.searches],
      options: [...file.options].map(([name, value]) => (value === '' ? name : `${name}:${value}`)),
      notes: notesOf(pod, kind, dns.policy !== 'none'),
    },
  }
}

function notesOf(pod: JsonObject, kind: ShownResolver['servers'], hasNode: boolean): string[] {
  const notes: string[] = []
  if (kind === 'node') {
    notes.push('the Pod queries the servers of its node, which need not know names of the cluster')
    const isOnHost = valueAt(pod, 'spec', 'hostNetwork') === true
    if (isOnHost && stringAt(pod, 'spec', 'dnsPolicy') !== 'Default') {
      notes.push(
        'on the network of the node, dnsPolicy ClusterFirstWithHostNet queries the cluster',
      )
    }
  }
  if (kind === 'pod') {
    notes.push(
      'the servers are those of dnsConfig; the API does not show whether they know the cluster',
    )
  }
  if (hasNode) {
    notes.push('the search list goes on with that of the node, which the API does not show')
  }
  const aliases = arrayAt(pod, 'spec', 'hostAliases').flatMap((one) => arrayAt(one, 'hostnames'))
  if (aliases.length > 0) {
    const names = aliases.map(scalarText).join(', ')
    notes.push(`/etc/hosts answers before DNS; by hostAliases it has ${names}`)
  }
  return notes
}
