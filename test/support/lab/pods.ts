import { BRIDGE, GATEWAY, hostNet, isV6, POD_INTERFACE } from './plan.ts'
import { closeSite, openSite, type Site } from './site.ts'
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
    const site = reused ?? (await all[all.push(openPod(prefix, node, all.length)) - 1])
    if (site === undefined) throw new Error('no pod')
    await address(site, node, ip)
    return site
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
      for (const [ip, promise] of taken) {
        const site = await promise
        await withdraw(site, node, ip)
        idle.push(site)
      }
    },
    async close() {
      const sites = await Promise.all(all)
      all.length = 0
      await Promise.all(sites.map(closeSite))
    },
  }
}

async function openPod(prefix: string, node: Site, serial: number): Promise<Site> {
  const site = await openSite(`${prefix}-pod${serial}`)
  const port = `${POD_INTERFACE}${serial}`
  await node.namespace.ip([
    `link add ${port} type veth peer name eth0 netns ${site.namespace.name}`,
    `link set ${port} master ${BRIDGE} up`,
    `link set ${port} type bridge_slave hairpin on`,
  ])
  await writeSysctls(site.agent, {
    'net/ipv4/ip_local_port_range': '10000 65000',
    'net/ipv6/conf/eth0/accept_dad': 0,
    'net/ipv4/conf/eth0/accept_redirects': 0,
    'net/ipv4/conf/all/accept_redirects': 0,
    'net/ipv6/conf/eth0/accept_redirects': 0,
  })
  await site.namespace.ip(['link set eth0 up'])
  return site
}

/** Gives a pod an address and routes, so that it reaches every other host, also its neighbours, through the node. */
async function address(site: Site, node: Site, ip: string): Promise<void> {
  const gateway = isV6(ip) ? GATEWAY.v6 : GATEWAY.v4
  await site.namespace.ip([
    `addr add ${hostNet(ip)} dev eth0${isV6(ip) ? ' nodad' : ''}`,
    `route add ${hostNet(gateway)} dev eth0`,
    `route add default via ${gateway} dev eth0`,
  ])
  await node.namespace.ip([`route replace ${hostNet(ip)} dev ${BRIDGE}`])
}

async function withdraw(site: Site, node: Site, ip: string): Promise<void> {
  const gateway = isV6(ip) ? GATEWAY.v6 : GATEWAY.v4
  await site.agent.call('unlistenAll', null)
  await site.namespace.ip([
    `route del default via ${gateway} dev eth0`,
    `route del ${hostNet(gateway)} dev eth0`,
    `addr del ${hostNet(ip)} dev eth0`,
  ])
  await node.namespace.ip([`route del ${hostNet(ip)} dev ${BRIDGE}`, 'neigh flush all'])
}
