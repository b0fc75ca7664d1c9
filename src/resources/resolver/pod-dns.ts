import { arrayAt, type JsonObject, objectAt, stringAt, stringsAt, valueAt } from '../../lib/json.ts'
import { mergeResolvConf, type ResolvConf } from './resolv-conf.ts'

/** What a Pod wants of its resolver. */
export interface PodDns {
  /** Where the servers come from: the cluster, the node, or the Pod alone. */
  readonly policy: 'cluster' | 'node' | 'none'
  /** `dnsConfig`. */
  readonly config: ResolvConf
  readonly namespace: string
}

/** How Pods resolve names of the cluster. */
export interface ClusterResolver {
  /** The addresses of the server of names, at port 53; none: Pods resolve as their node does. */
  readonly nameservers: readonly string[]
  /** `cluster.local`. */
  readonly domain: string
  /** The file of the node: `/etc/resolv.conf`. */
  readonly hostFile: string
}

/** So many dots make a name that is queried as it is, first: one less than `web.shop.svc.cluster.local` has. */
const NDOTS = '5'

/** Reads `dnsPolicy` and `dnsConfig`. On the network of the node, `ClusterFirst` means its resolver, as in Kubernetes. */
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

/** Whether the file of the Pod is another one than that of the node. */
export function hasOwnResolver(
  { policy, config }: PodDns,
  { nameservers }: ClusterResolver,
): boolean {
  const { nameservers: servers, searches, options } = config
  const isConfigured = servers.length + searches.length + options.size > 0
  return isConfigured || policy === 'none' || (policy === 'cluster' && nameservers.length > 0)
}

/** What the Pod's file says; `host` is that of its node. */
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
