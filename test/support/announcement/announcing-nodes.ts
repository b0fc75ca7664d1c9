import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { isIPv6 } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { vi } from 'vitest'
import type { Api } from '../lab/api.ts'
import { createDaemon, type Daemon } from '../lab/daemon.ts'
import { labPrefix, removeLab } from '../lab/leftovers.ts'
import { closeSite, openSite, type Site } from '../lab/site.ts'
import { type AnnouncingCluster, nodeObject, startCluster } from './announcing-cluster.ts'

/** The addresses that the Services have: several of one family, so that nodes share them. */
export const ADDRESSES = ['192.0.2.50', '192.0.2.51', '192.0.2.52', '2001:db8::50'] as const
export const NODES = ['n1', 'n2', 'n3'] as const
export type NodeName = (typeof NODES)[number]

const SERVER = '10.99.0.254'
const CLIENT = '192.0.2.2'
const CLIENT6 = '2001:db8::2'
const WAIT = { timeout: 90_000, interval: 20 }

/** An answer to a request, as the client's link had it. */
export interface Answer {
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly ip: string
  readonly node: NodeName
}

const macOf = (at: number) => `02:00:00:00:00:0${at + 1}`

/**
 * Three nodes with real daemons, backends and a client on one bridge; orch-server on another one, from which each node can be
 * cut off.
 */
export class AnnouncingNodes {
  readonly #prefix = labPrefix()
  readonly #folder = mkdtempSync(join(tmpdir(), 'np-announce-'))
  readonly #sites = new Map<string, Site>()
  readonly #daemons = new Map<NodeName, Daemon>()
  #cluster: AnnouncingCluster | undefined
  #capture: ChildProcess | undefined
  #answers: Answer[] = []

  get api(): Api {
    return this.#cluster!.api
  }

  async start(announcement: object = {}): Promise<void> {
    for (const name of ['lan', ...NODES, 'pods', 'client']) {
      this.#sites.set(name, await openSite(`${this.#prefix}-${name}`))
    }
    await this.#connect()
    this.#cluster = await startCluster(this.site('lan'), join(this.#folder, 'server'), SERVER)
    await this.api.apply(...NODES.map((name, at) => nodeObject(name, at)))
    for (const name of NODES) {
      const folder = join(this.#folder, name)
      mkdirSync(folder)
      const site = this.site(name)
      const daemon = createDaemon({
        node: site,
        api: this.api,
        folder,
        kubeconfigText: this.#cluster.kubeconfig,
      })
      this.#daemons.set(name, daemon)
      this.#config = { announcement: { layer2: true, ...announcement } }
      await this.startDaemon(name)
    }
    this.#startCapture()
  }

  #config: Readonly<Record<string, unknown>> = {}

  site(name: string): Site {
    return this.#sites.get(name)!
  }

  daemon(name: NodeName): Daemon {
    return this.#daemons.get(name)!
  }

  startDaemon(name: NodeName): Promise<void> {
    return this.daemon(name).start({ config: { hostnameOverride: name, ...this.#config } })
  }

  /** All answers so far, in their order. */
  get answers(): readonly Answer[] {
    return this.#answers
  }

  /** Forgets the answers so far. */
  forget(): void {
    this.#answers = []
  }

  /** The node that answered last for an address, if that was within the last moment. */
  announcer(ip: string, withinMs = 1_000): NodeName | undefined {
    const last = this.#answers.findLast((answer) => answer.ip === ip)
    return last && last.at > Date.now() - withinMs ? last.node : undefined
  }

  /** Waits until every address is answered, each by the node that comes first in its order. */
  async settled(): Promise<void> {
    let before = ''
    let since = Date.now()
    const check = () => {
      const now = ADDRESSES.map((ip) => this.announcer(ip) ?? 'nobody').join()
      if (now !== before || now.includes('nobody')) since = Date.now()
      before = now
      // Longer than a preferred node waits before it requests an address.
      if (Date.now() - since < 7_000) throw new Error(`not settled: ${now}\n${this.logs()}`)
    }
    await vi.waitFor(check, WAIT)
  }

  /** Waits until the client sends packets of an address to the node that answers for it: it may know that a second later. */
  async turned(ip: string): Promise<void> {
    const { namespace } = this.site('client')
    const check = async () => {
      const name = this.announcer(ip)
      const entry = await namespace.exec(['ip', 'neigh', 'show', 'to', ip])
      const isTurned = name !== undefined && entry.includes(macOf(NODES.indexOf(name)))
      if (!isTurned) throw new Error(`${name} answers for ${ip}; the client has ${entry}`)
    }
    await vi.waitFor(check, WAIT)
  }

  /** Cuts a node off from the API server, or ends that. */
  connectToServer(name: NodeName, isConnected: boolean): Promise<void> {
    return this.site('lan').namespace.ip([`link set api-${name} ${isConnected ? 'up' : 'down'}`])
  }

  /** Unplugs a node from the network of the addresses, or ends that. */
  plug(name: NodeName, isPlugged: boolean): Promise<void> {
    return this.site('lan').namespace.ip([`link set port-${name} ${isPlugged ? 'up' : 'down'}`])
  }

  /** Begins to connect to an address again and again; the returned function ends that. */
  async load(destination: string, timeoutMs = 3_000) {
    const { agent } = this.site('client')
    const { id } = await agent.call('loadStart', {
      protocol: 'TCP',
      source: CLIENT,
      destination,
      port: 80,
      intervalMs: 20,
      timeoutMs,
    })
    return () => agent.call('loadStop', { id, atLeast: 5 })
  }

  /** Opens connections to an address that stay, and exchange bytes until they are ended. */
  async hold(destination: string) {
    const { agent, namespace } = this.site('client')
    const { id } = await agent.call('holdOpen', {
      protocol: 'TCP',
      source: isIPv6(destination) ? CLIENT6 : CLIENT,
      destination,
      port: 80,
      timeoutMs: 3_000,
      count: 5,
      everyMs: 20,
    })
    return {
      check: () => agent.call('holdCheck', { id }),
      /** Closes them; resolves when no connection to the address is open or waits for an answer to that. */
      async end() {
        await agent.call('holdEnd', { id, how: 'close' })
        const check = async () => {
          const states = ['state', 'established', 'state', 'fin-wait-1']
          const open = await namespace.exec(['ss', '-Htn', ...states, 'dst', destination])
          if (open !== '') throw new Error(`still open: ${open}`)
        }
        await vi.waitFor(check, WAIT)
      },
    }
  }

  async stop(): Promise<void> {
    this.#capture?.stdin?.end()
    for (const daemon of this.#daemons.values()) await daemon.kill()
    await this.#cluster?.end()
    for (const site of this.#sites.values()) await closeSite(site)
    removeLab(this.#prefix)
    rmSync(this.#folder, { recursive: true, force: true })
  }

  /** What the daemons logged. */
  logs(): string {
    return NODES.map((name) => `${name}:\n${this.daemon(name).logs()}`).join('\n')
  }

  async #connect(): Promise<void> {
    const lan = this.site('lan').namespace
    await lan.ip([
      'link add br0 type bridge',
      'link set br0 up',
      'link add br1 type bridge',
      'link set br1 up',
      `address add ${SERVER}/24 dev br1`,
    ])
    const hosts = [
      ...NODES.map((name, at) => [name, macOf(at), `1${at + 1}`] as const),
      ['pods', '02:00:00:00:00:09', '9'] as const,
      ['client', '02:00:00:00:00:33', '2'] as const,
    ]
    for (const [name, mac, host] of hosts) {
      const { namespace } = this.site(name)
      await lan.ip([
        `link add port-${name} type veth peer name eth0 address ${mac} netns ${namespace.name}`,
        `link set port-${name} master br0 up`,
      ])
      await namespace.ip([
        'link set eth0 up',
        `address add 192.0.2.${host}/24 dev eth0`,
        `address add 2001:db8::${host}/64 dev eth0 nodad`,
      ])
    }
    await this.site('pods').namespace.ip([
      'address add 10.244.9.2/32 dev lo',
      'address add fd00:244:9::2/128 dev lo nodad',
    ])
    for (const [at, name] of NODES.entries()) {
      const { namespace } = this.site(name)
      await namespace.exec([
        'sysctl',
        '-qw',
        'net.ipv4.ip_forward=1',
        'net.ipv6.conf.all.forwarding=1',
      ])
      await lan.ip([
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
    await this.#listen('pods', ['10.244.9.2', 'fd00:244:9::2'])
  }

  async #listen(name: string, ips: readonly string[]): Promise<void> {
    for (const ip of ips) {
      await this.site(name).agent.call('listen', { protocol: 'TCP', ip, port: 80, name })
    }
  }

  #startCapture(): void {
    const script = fileURLToPath(new URL('answers.script.ts', import.meta.url))
    const node = [process.execPath, '--no-warnings', script, ...ADDRESSES]
    const { name } = this.site('client').namespace
    const child = spawn('ip', ['netns', 'exec', name, ...node], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    this.#capture = child
    let rest = ''
    child.stdout.on('data', (chunk: Buffer) => {
      const lines = `${rest}${chunk.toString()}`.split('\n')
      rest = lines.pop()!
      this.#answers.push(...lines.map(readAnswer))
    })
    void once(child, 'exit')
  }
}

function readAnswer(line: string): Answer {
  const [at, ip = '', mac = ''] = line.split(' ')
  return { at: Number(at), ip, node: NODES[Number(mac.at(-1)) - 1]! }
}
