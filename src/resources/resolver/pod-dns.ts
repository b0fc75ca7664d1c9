import { arrayAt, type JsonObject, objectAt, stringAt, stringsAt, valueAt } from '../../lib/json.ts'
import { mergeResolvConf, type ResolvConf } from './resolv-conf.ts'

/** The DNS settings of a Pod. */
export interface PodDns {
  /** The source of the name servers: the cluster, the node, or only the Pod itself. */
  readonly policy: 'cluster' | 'node' | 'none'
  /** `dnsConfig`. */
  readonly config: ResolvConf
  readonly namespace: string
}

/** How Pods resolve names of the cluster. */
export interface ClusterResolver {
  /** The addresses of the DNS server, at port 53; if empty, Pods resolve names like their node. */
  readonly nameservers: readonly string[]
  /** `cluster.local`. */
  readonly domain: string
  /** The file of the node: `/etc/resolv.conf`. */
  readonly hostFile: string
}

/** A name with this number of dots is queried unchanged first: one less than `web.shop.svc.cluster.local` has. */
const NDOTS = '5'

/**
 * Reads `dnsPolicy` and `dnsConfig`. For a Pod on the node's network, `ClusterFirst` stands for the node's resolver,
 * as in Kubernetes.
 */
export function readPodDns(object: JsonObject): PodDns {
  const spec = objectAt(object, 'spec')
  const config = objectAt(spec, 'dnsConfig')
  return {
    policy: policyOf(stringAt(spec, 'dnsPolicy'), valueAt(spec, 'hostNetwork') === true),
    namespace: stringAt(objectAt(object, 'metadata'), 'namespace'),
    config: {
      nameservers: stringsAt(config, 'nameservers'),
      searches: stringsAt(config, 'searches'),
      options: new Map(
        arrayAt(config, 'options').map((one) => [stringAt(one, 'name'), stringAt(one, 'value')]),
      ),
    },
  }
}

function policyOf(policy: string, isOnHost: boolean): PodDns['policy'] {
  if (policy === 'None') return 'none'
  if (policy === 'Default') return 'node'
  return isOnHost && policy !== 'ClusterFirstWithHostNet' ? 'node' : 'cluster'
}

/** Whether the Pod's file differs from that of the node. */
export function hasOwnResolver(
  { policy, config }: PodDns,
  { nameservers }: ClusterResolver,
): boolean {
  const { nameservers: servers, searches, options } = config
  const isConfigured = servers.length + searches.length + options.size > 0
  return isConfigured || policy === 'none' || (policy === 'cluster' && nameservers.length > 0)
}

/** The content of the Pod's file; `host` is that of its node. */
export function podResolvConf(
  { policy, config, namespace }: PodDns,
  { nameservers, domain }: ClusterResolver,
  host: ResolvConf,
): ResolvConf {
  if (policy === 'none') return config
  if (policy === 'node' || nameservers.length === 0) return mergeResolvConf(host, config)
  const searches = [`${namespace}.svc.${domain}`, `svc.${domain}`, domain, ...host.searches]
  const cluster = { nameservers, searches, options: new Map([['ndots', NDOTS]]) }
  return mergeResolvConf(cluster, config)
}
