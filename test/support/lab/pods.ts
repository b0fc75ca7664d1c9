import { LOOPBACK_UP } from './namespace.ts'
import { BRIDGE, GATEWAY, hostNet, isV6, POD_INTERFACE } from './plan.ts'
import { closeSites, openEmptySite, type Site } from './site.ts'
import { writeSysctls } from './sysctl.ts'

/** Pods of the node under test: each its own namespace behind a port of the node's bridge. */
export interface Pods {
  /** The pod that owns the address; created when there is none. */
  at(ip: string): Promise<Site>
  /** Whether some pod owns the address. */
  has(ip: string): boolean
  /** Removes all addresses; keeps the namespaces for the next pods. */
  clear(): Promise<void>
  close(): Promise<void>
}

export function createPods(prefix: string, node: Site): Pods {
  const byIp = new Map<string, Promise<Site>>()
  const idle: Site[] = []
  const all: Promise<Site>[] = []

  async function take(ip: string): Promise<Site> {
    const reused = idle.pop()
    if (reused !== undefined) {
      await reused.namespace.ip(addressing(ip))
      await node.namespace.ip([routeTo(ip)])
      return reused
    }
    const name = `${POD_INTERFACE}${all.length}`
    const opened = openPod(`${prefix}-${name}`, name, { node, ip })
    all.push(opened)
    return opened
  }

  return {
    at(ip) {
      const known = byIp.get(ip) ?? take(ip)
      byIp.set(ip, known)
      return known
    },
    has: (ip) => byIp.has(ip),
    async clear() {
      const taken = [...byIp]
      byIp.clear()
      const sites = await Promise.all(taken.map(([ip, site]) => withdraw(site, ip)))
      await node.namespace.ip(withdrawn(taken.map(([ip]) => ip)))
      idle.push(...sites)
    },
    async close() {
      const sites = await Promise.all(all)
      all.length = 0
      await closeSites(sites)
    },
  }
}

/** A new pod with its first address. */
async function openPod(
  name: string,
  port: string,
  { node, ip }: { readonly node: Site; readonly ip: string },
): Promise<Site> {
  const site = await openEmptySite(name)
  await node.namespace.ip([
    `link add ${port} type veth peer name eth0 netns ${site.namespace.name}`,
    `link set ${port} master ${BRIDGE} up`,
    `link set ${port} type bridge_slave hairpin on`,
    routeTo(ip),
  ])
  await writeSysctls(site.agent, {
    'net/ipv4/ip_local_port_range': '10000 65000',
    'net/ipv6/conf/eth0/accept_dad': 0,
    'net/ipv4/conf/eth0/accept_redirects': 0,
    'net/ipv4/conf/all/accept_redirects': 0,
    'net/ipv6/conf/eth0/accept_redirects': 0,
  })
  await site.namespace.ip([LOOPBACK_UP, 'link set eth0 up', ...addressing(ip)])
  return site
}

/** Gives a pod an address and routes, so that it reaches every other host, also its neighbours, through the node. */
function addressing(ip: string): readonly string[] {
  const gateway = isV6(ip) ? GATEWAY.v6 : GATEWAY.v4
  return [
    `addr add ${hostNet(ip)} dev eth0${isV6(ip) ? ' nodad' : ''}`,
    `route add ${hostNet(gateway)} dev eth0`,
    `route add default via ${gateway} dev eth0`,
  ]
}

/** For the node. */
function routeTo(ip: string): string {
  return `route replace ${hostNet(ip)} dev ${BRIDGE}`
}

async function withdraw(pod: Promise<Site>, ip: string): Promise<Site> {
  const site = await pod
  const gateway = isV6(ip) ? GATEWAY.v6 : GATEWAY.v4
  await site.agent.call('unlistenAll', null)
  await site.namespace.ip([
    `route del default via ${gateway} dev eth0`,
    `route del ${hostNet(gateway)} dev eth0`,
    `addr del ${hostNet(ip)} dev eth0`,
  ])
  return site
}

/** For the node, when these are gone. */
function withdrawn(ips: readonly string[]): readonly string[] {
  if (ips.length === 0) return []
  return [...ips.map((ip) => `route del ${hostNet(ip)} dev ${BRIDGE}`), 'neigh flush all']
}
