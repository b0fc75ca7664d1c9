import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { vi } from 'vitest'
import type { Api } from '../lab/api.ts'
import { createDaemon, type Daemon } from '../lab/daemon.ts'
import { labPrefix, removeLab } from '../lab/leftovers.ts'
import { type LabProcess, startProcess } from '../lab/process.ts'
import { closeSite, openSite, type Site } from '../lab/site.ts'
import { launcherOf } from '../programs.ts'
import { type AnnouncingCluster, nodeObject, startCluster } from './announcing-cluster.ts'

export const NODES = ['n1', 'n2'] as const
export type NodeName = (typeof NODES)[number]

/** The addresses of the router, where the nodes are and where the client is. */
export const ROUTER = { v4: '192.0.2.1', v6: '2001:db8::1' } as const
const CLIENT = { v4: '198.51.100.2', v6: '2001:db8:c::2' } as const
const SERVER = '10.99.0.254'
export const ROUTER_ASN = 64_512
export const NODE_ASN = 4_200_000_001
const WAIT = { timeout: 90_000, interval: 20 }

/** A next hop of `ip -j route`. */
interface KernelRoute {
  readonly gateway?: string
  readonly nexthops?: readonly { readonly gateway: string }[]
}

/**
 * Two nodes with real daemons and backends behind a router with BIRD; a client at another network of the router; orch-server
 * on a network of its own.
 */
export class RoutedNodes {
  readonly #prefix = labPrefix()
  readonly #folder = mkdtempSync(join(tmpdir(), 'np-bgp-'))
  readonly #sites = new Map<string, Site>()
  readonly #daemons = new Map<NodeName, Daemon>()
  #cluster: AnnouncingCluster | undefined
  readonly #routers: LabProcess[] = []

  async start(bgp: object): Promise<void> {
    for (const name of ['router', ...NODES, 'pods', 'client', 'api']) {
      this.#sites.set(name, await openSite(`${this.#prefix}-${name}`))
    }
    await this.#connect()
    await this.startRouter()
    this.#cluster = await startCluster(this.site('api'), join(this.#folder, 'server'), SERVER)
    await this.api.apply(...NODES.map((name, at) => nodeObject(name, at)))
    for (const name of NODES) {
      const folder = join(this.#folder, name)
      mkdirSync(folder)
      const { kubeconfig } = this.#cluster
      const parts = { node: this.site(name), api: this.api, folder, kubeconfigText: kubeconfig }
      this.#daemons.set(name, createDaemon(parts))
      await this.daemon(name).start({ config: configOf(name, bgp) })
    }
  }

  get api(): Api {
    return this.#cluster!.api
  }

  site(name: string): Site {
    return this.#sites.get(name)!
  }

  daemon(name: NodeName): Daemon {
    return this.#daemons.get(name)!
  }

  startDaemon(name: NodeName, bgp: object): Promise<void> {
    return this.daemon(name).start({ config: configOf(name, bgp) })
  }

  /** Changes the configuration file of a running daemon. */
  configure(name: NodeName, bgp: object): void {
    this.daemon(name).writeConfig(configOf(name, bgp))
  }

  /** Starts BIRD with both nodes as neighbors. */
  async startRouter(): Promise<void> {
    const file = join(this.#folder, 'bird.conf')
    writeFileSync(file, birdConfig())
    const command = ['bird', '-f', '-c', file, '-s', this.#control, '-P', `${this.#control}.pid`]
    const bird = startProcess(this.site('router').namespace, command)
    this.#routers.push(bird)
    await bird.said('Started')
  }

  /** Starts FRR in place of BIRD, as its own user, who must own its sockets. */
  async startFrr(): Promise<void> {
    mkdirSync(this.#frrFolder)
    chmodSync(this.#folder, 0o755)
    chmodSync(this.#frrFolder, 0o777)
    for (const [program, config] of Object.entries({ zebra: '', bgpd: frrConfig() })) {
      const of = (ending: string) => join(this.#frrFolder, `${program}.${ending}`)
      writeFileSync(of('conf'), config)
      const files = ['-f', of('conf'), '-i', of('pid'), '--vty_socket', this.#frrFolder]
      const command = [`/usr/lib/frr/${program}`, '--log', 'stdout', ...files]
      const socket = ['-z', join(this.#frrFolder, 'zserv.sock')]
      const { namespace } = this.site('router')
      this.#routers.push(startProcess(namespace, [...command, ...socket]))
      await vi.waitUntil(() => existsSync(of('vty')), WAIT)
    }
  }

  vtysh(command: string): Promise<string> {
    const program = ['vtysh', '--vty_socket', this.#frrFolder, '-c', command]
    return this.site('router').namespace.exec(program)
  }

  /** Ends the programs of the router at once, as a crash does, and removes their routes. */
  async killRouter(): Promise<void> {
    for (const one of this.#routers) one.signal('SIGKILL')
    await Promise.all(this.#routers.splice(0).map(({ ended }) => ended))
    const { namespace } = this.site('router')
    for (const family of ['-4', '-6']) {
      await namespace.exec(['ip', family, 'route', 'flush', 'proto', 'bird'])
    }
  }

  birdc(...command: readonly string[]): Promise<string> {
    return this.site('router').namespace.exec(['birdc', '-s', this.#control, ...command])
  }

  /** The nodes to which the kernel of the router sends packets for an address, sorted. */
  async nextHops(ip: string): Promise<readonly NodeName[]> {
    const { namespace } = this.site('router')
    const family = ip.includes(':') ? '-6' : '-4'
    const text = await namespace.exec(['ip', '-j', family, 'route', 'show', ip])
    const routes = JSON.parse(text || '[]') as readonly KernelRoute[]
    const hops = routes.flatMap(
      ({ gateway, nexthops }) => nexthops ?? (gateway ? [{ gateway }] : []),
    )
    return NODES.filter((_, at) => hops.some((hop) => hop.gateway.endsWith(`1${at + 1}`)))
  }

  /** Waits until the kernel of the router sends packets for each address to these nodes. */
  async routed(ips: readonly string[], nodes: readonly NodeName[]): Promise<void> {
    const check = async () => {
      const found = await Promise.all(ips.map((ip) => this.nextHops(ip)))
      if (found.every((hops) => hops.join() === nodes.join())) return
      const logs = NODES.map((name) => this.daemon(name).logs().slice(-3_000))
      const routers = this.#routers.map((one) => one.output())
      throw new Error([JSON.stringify(found), ...routers, ...logs].join('\n'))
    }
    await vi.waitFor(check, WAIT)
  }

  /** The conditions of a node, as `reason: message`. */
  async conditions(name: NodeName): Promise<readonly string[]> {
    const { body } = await this.daemon(name).http(10_249, '/readyz?verbose')
    return body.split('\n')
  }

  /** The output of `node-proxy status` or another command on a node where nothing is wrong. */
  command(name: NodeName, ...words: readonly string[]): Promise<string> {
    const socket = `--socket=${join(this.#folder, name, 'inspect.sock')}`
    const command = [launcherOf('node-proxy'), ...words, socket]
    return this.site(name).namespace.exec(command, { timeoutMs: 60_000 })
  }

  /** Takes the cable of a node away, or plugs it in. */
  plug(name: NodeName, isPlugged: boolean): Promise<void> {
    const state = isPlugged ? 'up' : 'down'
    return this.site('router').namespace.ip([`link set port-${name} ${state}`])
  }

  /** Connects to an address so many times: the answers of backends, with whom they saw. */
  async connect(destination: string, attempts: number) {
    const source = destination.includes(':') ? CLIENT.v6 : CLIENT.v4
    const { agent } = this.site('client')
    const request = { protocol: 'TCP', source, destination, port: 80, attempts } as const
    return await agent.call('connect', { ...request, timeoutMs: 3_000 })
  }

  /** Begins to connect to an address again and again; the returned function ends that. */
  async load(destination: string) {
    const { agent } = this.site('client')
    const source = destination.includes(':') ? CLIENT.v6 : CLIENT.v4
    const request = { protocol: 'TCP', source, destination, port: 80 } as const
    const { id } = await agent.call('loadStart', { ...request, intervalMs: 20, timeoutMs: 3_000 })
    return () => agent.call('loadStop', { id, atLeast: 50 })
  }

  async stop(): Promise<void> {
    for (const daemon of this.#daemons.values()) await daemon.kill()
    await this.killRouter()
    await this.#cluster?.end()
    for (const site of this.#sites.values()) await closeSite(site)
    removeLab(this.#prefix)
    rmSync(this.#folder, { recursive: true, force: true })
  }

  get #frrFolder(): string {
    return join(this.#folder, 'frr')
  }

  get #control(): string {
    return join(this.#folder, 'bird.ctl')
  }

  async #connect(): Promise<void> {
    const router = this.site('router').namespace
    const server = this.site('api').namespace
    await router.ip([
      'link add br0 type bridge',
      'link set br0 up',
      `address add ${ROUTER.v4}/24 dev br0`,
      `address add ${ROUTER.v6}/64 dev br0 nodad`,
      `link add clients type veth peer name eth0 netns ${this.site('client').namespace.name}`,
      'link set clients up',
      'address add 198.51.100.1/24 dev clients',
      'address add 2001:db8:c::1/64 dev clients nodad',
    ])
    await router.exec([
      'sysctl',
      '-qw',
      'net.ipv4.ip_forward=1',
      'net.ipv6.conf.all.forwarding=1',
      'net.ipv4.fib_multipath_hash_policy=1',
      'net.ipv6.fib_multipath_hash_policy=1',
    ])
    await this.site('client').namespace.ip([
      'link set eth0 up',
      `address add ${CLIENT.v4}/24 dev eth0`,
      `address add ${CLIENT.v6}/64 dev eth0 nodad`,
      'route add default via 198.51.100.1',
      'route add default via 2001:db8:c::1',
    ])
    for (const [name, host] of [
      ['n1', 11],
      ['n2', 12],
      ['pods', 9],
    ] as const) {
      const { namespace } = this.site(name)
      await router.ip([
        `link add port-${name} type veth peer name eth0 netns ${namespace.name}`,
        `link set port-${name} master br0 up`,
      ])
      await namespace.ip([
        'link set eth0 up',
        `address add 192.0.2.${host}/24 dev eth0`,
        `address add 2001:db8::${host}/64 dev eth0 nodad`,
        `route add default via ${ROUTER.v4}`,
        `route add default via ${ROUTER.v6}`,
      ])
    }
    await this.site('pods').namespace.ip([
      'address add 10.244.9.2/32 dev lo',
      'address add fd00:244:9::2/128 dev lo nodad',
    ])
    await server.ip([
      'link add br1 type bridge',
      'link set br1 up',
      `address add ${SERVER}/24 dev br1`,
    ])
    for (const [at, name] of NODES.entries()) await this.#connectNode(name, at, server.ip)
    await this.#listen('pods', ['10.244.9.2', 'fd00:244:9::2'])
  }

  async #connectNode(name: NodeName, at: number, ip: (lines: string[]) => Promise<void>) {
    const { namespace } = this.site(name)
    await namespace.exec([
      'sysctl',
      '-qw',
      'net.ipv4.ip_forward=1',
      'net.ipv6.conf.all.forwarding=1',
    ])
    await ip([
      `link add api-${name} type veth peer name eth1 netns ${namespace.name}`,
      `link set api-${name} master br1 up`,
    ])
    await namespace.ip([
      'link set eth1 up',
      `address add 10.99.0.${at + 1}/24 dev eth1`,
      `address add 10.244.${at + 1}.2/32 dev lo`,
      'route add 10.244.9.2/32 via 192.0.2.9',
      'route add fd00:244:9::2/128 via 2001:db8::9',
    ])
    await this.#listen(name, [`10.244.${at + 1}.2`])
  }

  async #listen(name: string, ips: readonly string[]): Promise<void> {
    for (const ip of ips) {
      await this.site(name).agent.call('listen', { protocol: 'TCP', ip, port: 80, name })
    }
  }
}

function configOf(name: NodeName, bgp: object) {
  return { hostnameOverride: name, announcement: { bgp } }
}

/** What docs/operate/announcement.md says of BIRD, for both nodes. */
function birdConfig(): string {
  const neighbors = NODES.map(
    (name, at) => `protocol bgp ${name} from nodes { neighbor 192.0.2.1${at + 1} as ${NODE_ASN}; }`,
  )
  return `
log stderr all;
router id ${ROUTER.v4};
protocol device { scan time 1; }
protocol kernel { ipv4 { import none; export all; }; merge paths on; }
protocol kernel { ipv6 { import none; export all; }; merge paths on; }
template bgp nodes {
  local as ${ROUTER_ASN};
  passive;
  error wait time 1, 1;
  ipv4 { import where net ~ [ 203.0.113.0/24{32,32} ]; export none; };
  ipv6 { import where net ~ [ 2001:db8:5::/64{128,128} ]; export none; };
}
${neighbors.join('\n')}
`
}

/** What docs/operate/announcement.md says of FRR. */
function frrConfig(): string {
  const nodes = NODES.map((_, at) => ` neighbor 192.0.2.1${at + 1} peer-group nodes`)
  return `
ip prefix-list pool seq 5 permit 203.0.113.0/24 ge 32
ipv6 prefix-list pool seq 5 permit 2001:db8:5::/64 ge 128
router bgp ${ROUTER_ASN}
 bgp router-id ${ROUTER.v4}
 no bgp ebgp-requires-policy
 neighbor nodes peer-group
 neighbor nodes remote-as ${NODE_ASN}
 neighbor nodes passive
${nodes.join('\n')}
 address-family ipv4 unicast
  neighbor nodes prefix-list pool in
 exit-address-family
 address-family ipv6 unicast
  neighbor nodes activate
  neighbor nodes prefix-list pool in
 exit-address-family
`
}
