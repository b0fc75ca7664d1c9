import { fileURLToPath } from 'node:url'
import { labPrefix, removeLab, removeLeftovers } from '../lab/leftovers.ts'
import { addNamespace, type Namespace } from '../lab/namespace.ts'
import { Remote, type RemoteOptions } from './remote.ts'

/** Where clients find the Services: an address of the node itself. */
export const FRONTEND = '10.7.0.1'
/** The network of spoofed clients; packets to it are dropped. */
export const UNUSED_NETWORK = '198.18.0.0/15'

/** One of 254 clients. */
export function clientAddress(index: number): string {
  return `10.7.1.${index + 1}`
}

/** One of 65,000 backends. */
export function backendAddress(index: number): string {
  return `10.9.${index >> 8}.${index & 0xff}`
}

const NODE = ['link set cl0 up', 'addr add 10.7.0.1/24 dev cl0', 'addr add 10.8.0.1/24 dev be0']
  .concat(['link set be0 up', `route add ${UNUSED_NETWORK} via 10.7.0.2`])
  .concat(['route add 10.7.1.0/24 via 10.7.0.2', 'route add 10.9.0.0/16 via 10.8.0.2'])
const CLIENTS = ['addr add 10.7.0.2/24 dev eth0', 'link set eth0 up'].concat([
  'route add local 10.7.1.0/24 dev lo',
  'route add default via 10.7.0.1',
])
const BACKENDS = ['addr add 10.8.0.2/24 dev eth0', 'link set eth0 up'].concat([
  'route add local 10.9.0.0/16 dev lo',
  'route add default via 10.8.0.1',
])
/** Receive buffers of backends, so small that writes to them are often partial. */
const SMALL_BUFFERS = 'net.ipv4.tcp_rmem=4096 16384 65536'

/** Three namespaces, clients, a forwarding node and backends, with processes in them. */
export class Stage {
  readonly #prefix: string
  readonly #namespaces: Readonly<Record<'node' | 'clients' | 'backends', Namespace>>
  readonly #remotes = new Set<Pick<Remote<unknown>, 'kill'>>()

  private constructor(prefix: string, [node, clients, backends]: readonly Namespace[]) {
    if (!node || !clients || !backends) throw new Error('three namespaces make a stage')
    this.#prefix = prefix
    this.#namespaces = { node, clients, backends }
    process.once('exit', this.#removeNow)
  }

  static async build(): Promise<Stage> {
    removeLeftovers()
    const prefix = labPrefix()
    const names = ['node', 'clients', 'backends'].map((name) => `${prefix}-${name}`)
    const stage = new Stage(prefix, await Promise.all(names.map(addNamespace)))
    const { node, clients, backends } = stage.#namespaces
    await node.ip([
      `link add cl0 type veth peer name eth0 netns ${clients.name}`,
      `link add be0 type veth peer name eth0 netns ${backends.name}`,
      ...NODE,
    ])
    await clients.ip(CLIENTS)
    await backends.ip(BACKENDS)
    await backends.exec(['sysctl', '-qw', SMALL_BUFFERS])
    return stage
  }

  /** Runs a script of this folder, which serves `Calls`. */
  async start<Calls>(
    where: 'node' | 'clients' | 'backends',
    script: string,
    options: RemoteOptions = {},
  ): Promise<Remote<Calls>> {
    const path = fileURLToPath(new URL(script, import.meta.url))
    const remote = new Remote<Calls>(this.#namespaces[where].name, path, options)
    this.#remotes.add(remote)
    await remote.ready
    return remote
  }

  /**
   * Drops, or no longer drops, packets to and from a backend. They are dropped on arrival, as in a network: a host that
   * cannot send its answer would forget a half-open connection, and the client would wait for ever.
   */
  async blackhole(address: string, isBlack: boolean): Promise<void> {
    const { node, backends } = this.#namespaces
    const rule = ['-t', 'raw', isBlack ? '-A' : '-D', 'PREROUTING']
    for (const [arrival, match] of [[backends, '-d'] as const, [node, '-s'] as const]) {
      await arrival.exec(['iptables', '-w', ...rule, match, address, '-j', 'DROP'])
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#remotes].map((remote) => remote.kill()))
    for (const namespace of Object.values(this.#namespaces)) await namespace.remove()
    process.off('exit', this.#removeNow)
  }

  readonly #removeNow = (): void => removeLab(this.#prefix)
}
