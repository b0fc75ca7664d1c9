import { parseIp } from '../lib/ip.ts'
import { arrayAt, type JsonObject, objectAt, stringAt, stringsAt, valueAt } from '../lib/json.ts'
import { isDnsName } from './names.ts'

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

/**
 * A name with this number of dots is queried unchanged first. `web.shop.svc.cluster.local` has one less: the domains of
 * the search list are tried before it.
 */
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

/** The content of a resolver's file (resolv.conf(5)). */
export interface ResolvConf {
  readonly nameservers: readonly string[]
  readonly searches: readonly string[]
  /** Options by name; the value is empty for options without one. */
  readonly options: ReadonlyMap<string, string>
}

/** The limits of current resolvers; libc ignores further servers, and musl longer lists of domains. */
const MAX_NAMESERVERS = 3
const MAX_SEARCHES = 32
const MAX_SEARCH_CHARACTERS = 2_048
const OPTION = /^[a-z][\w-]*$/i
const OPTION_VALUE = /^[\w.-]*$/

/** Reads a file; if it has several `search` or `domain` lines, the last one counts, as in libc. */
export function parseResolvConf(text: string): ResolvConf {
  const nameservers: string[] = []
  const options = new Map<string, string>()
  let searches: readonly string[] = []
  for (const line of text.split('\n')) {
    const [keyword = '', ...words] = line.trim().split(/\s+/)
    const [first] = words
    if (keyword === 'nameserver' && first !== undefined) nameservers.push(first)
    else if (keyword === 'search' || keyword === 'domain') searches = words
    else if (keyword === 'options') for (const word of words) setOption(options, word)
  }
  return { nameservers, searches, options }
}

function setOption(options: Map<string, string>, word: string): void {
  const [name = '', value = ''] = word.split(':')
  options.set(name, value)
}

/** Merges two files: entries of `more` come last, and its options take precedence. */
function mergeResolvConf(base: ResolvConf, more: ResolvConf): ResolvConf {
  return {
    nameservers: [...base.nameservers, ...more.nameservers],
    searches: [...base.searches, ...more.searches],
    options: new Map([...base.options, ...more.options]),
  }
}

/** The text of a file, without lines that no resolver can read, repetitions, and entries beyond the limits. */
export function formatResolvConf({ nameservers, searches, options }: ResolvConf): string {
  const servers = unique(nameservers.filter(isNameserver)).slice(0, MAX_NAMESERVERS)
  const domains = unique(searches.filter((name) => name === '.' || isDnsName(name)))
  const words = [...options]
    .filter(([name, value]) => OPTION.test(name) && OPTION_VALUE.test(value))
    .map(([name, value]) => (value === '' ? name : `${name}:${value}`))
  const lines = [
    ...servers.map((server) => `nameserver ${server}`),
    ...list('search', fitting(domains.slice(0, MAX_SEARCHES))),
    ...list('options', words),
  ]
  return lines.map((line) => `${line}\n`).join('')
}

function isNameserver(text: string): boolean {
  const [address = '', zone = 'none'] = text.split('%')
  return parseIp(address) !== undefined && /^[\w.-]{1,15}$/.test(zone)
}

function unique(items: readonly string[]): readonly string[] {
  return [...new Set(items)]
}

function list(keyword: string, words: readonly string[]): readonly string[] {
  return words.length === 0 ? [] : [`${keyword} ${words.join(' ')}`]
}

function fitting(domains: readonly string[]): readonly string[] {
  let length = 0
  return domains.filter((domain) => {
    length += domain.length + 1
    return length <= MAX_SEARCH_CHARACTERS
  })
}
