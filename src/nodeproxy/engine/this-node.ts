import type { ClusterStore } from '../../cluster/cluster-store.ts'
import type { NodeContext } from '../../forwarding/node-context.ts'
import type { Addresses } from '../../kernel/addresses.ts'
import type { Sysctl } from '../../kernel/sysctl.ts'
import type { Clock } from '../../lib/clock.ts'
import { isDeepEqual } from '../../lib/equal.ts'
import { familyOf, type IpAddress } from '../../lib/ip.ts'
import { Mutex } from '../../lib/mutex.ts'
import {
  type NodePortScope,
  nodePortScope,
} from '../../modes/netfilter/settings/node-port-scope.ts'
import type { KernelFacts, ModeInputs } from '../../modes/netfilter/settings/settings.ts'
import type { Node } from '../../resources/types.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { NodeProxyConfiguration } from '../config/fields/configuration.ts'
import { routesLocalnet } from '../kernel/sysctls.ts'

/** What `ThisNode` reads. */
interface ThisNodeParts {
  readonly configuration: { readonly current: NodeProxyConfiguration }
  readonly nodeName: string
  readonly store: Pick<ClusterStore, 'node' | 'serviceCIDRs'>
  readonly kernel: { readonly addresses: Addresses; readonly sysctl: Sysctl }
  /** Facts that do not change while the daemon runs; `routesLocalnet` is read again each time. */
  readonly facts: Omit<KernelFacts, 'routesLocalnet'>
  readonly clock: Clock
  readonly log: Logger
}

/** The present state of this node: its object, the addresses of its interfaces, its kernel and its configuration. */
export class ThisNode {
  readonly #parts: ThisNodeParts
  readonly #local: LocalAddresses

  constructor(parts: ThisNodeParts) {
    this.#parts = parts
    this.#local = new LocalAddresses({ ...parts, addresses: parts.kernel.addresses })
  }

  /** The Node object; undefined if the API server has no Node of this name. */
  get object(): Node | undefined {
    return this.#parts.store.node(this.#parts.nodeName)
  }

  /** The addresses of the interfaces as they were last read; empty before `followAddresses`. */
  get localAddresses(): readonly IpAddress[] {
    return this.#local.current
  }

  /** What the compilation of Services needs of this node. */
  get context(): NodeContext {
    const { configuration, nodeName } = this.#parts
    const known = { node: this.object, local: this.localAddresses }
    return nodeContext(configuration.current, nodeName, known)
  }

  /** The addresses that serve node ports. */
  get nodePortScope(): NodePortScope {
    return nodePortScope(this.#parts.configuration.current.nodePortAddresses, this.object)
  }

  /** What a mode derives its settings from. */
  get modeInputs(): ModeInputs<NodeProxyConfiguration> {
    const { configuration, facts, kernel, store } = this.#parts
    return {
      config: configuration.current,
      node: this.object,
      serviceCIDRs: store.serviceCIDRs,
      facts: { ...facts, routesLocalnet: routesLocalnet(kernel.sysctl) },
      localAddresses: this.localAddresses,
    }
  }

  /** Reads the addresses, and calls `onChange` after each later change. @returns a function that ends the calls */
  followAddresses(onChange: () => void): Promise<() => void> {
    return this.#local.follow(onChange)
  }
}

/** Milliseconds until addresses that could not be read are read again. */
const RETRY_MS = 5_000

/** What `LocalAddresses` uses. */
interface LocalAddressesParts {
  readonly addresses: Addresses
  readonly clock: Pick<Clock, 'after'>
  readonly log: Logger
}

/**
 * The addresses of this node's interfaces. Addresses of link scope are left out, because they change with every pod and
 * serve no Service.
 */
export class LocalAddresses {
  readonly #parts: LocalAddressesParts
  /** One read after the other, so that the last one to end is the last one begun. */
  readonly #reads = new Mutex()
  #current: readonly IpAddress[] = []

  constructor(parts: LocalAddressesParts) {
    this.#parts = parts
  }

  get current(): readonly IpAddress[] {
    return this.#current
  }

  /**
   * Reads the addresses, and calls `onChange` after each later change. A read that fails is tried again.
   * @returns a function that ends the calls
   */
  async follow(onChange: () => void): Promise<() => void> {
    const { addresses, clock } = this.#parts
    let isFollowed = true
    let cancelRetry = (): void => undefined
    const read = async (report: () => void): Promise<void> => {
      const outcome = await this.#reads.run(() => this.#read())
      if (!isFollowed) return
      cancelRetry()
      if (outcome === 'failed') cancelRetry = clock.after(RETRY_MS, () => void read(onChange))
      if (outcome === 'changed') report()
    }
    const stop = addresses.watch(() => void read(onChange))
    await read(() => undefined)
    return () => {
      isFollowed = false
      cancelRetry()
      stop()
    }
  }

  /** Reads the addresses. If that fails, the last known ones stay. */
  async #read(): Promise<'changed' | 'same' | 'failed'> {
    try {
      const all = await this.#parts.addresses.list()
      const next = all.filter(({ scope }) => scope !== 'link').map(({ ip }) => ip)
      if (isDeepEqual(next, this.#current)) return 'same'
      this.#current = next
      return 'changed'
    } catch (error) {
      this.#parts.log.warn(
        { err: error },
        'reading the addresses of this node failed; the last known ones stay in use',
      )
      return 'failed'
    }
  }
}

/**
 * The name of this node's Node object: `hostnameOverride`, or the host name if that is empty. It is in lower case, and
 * without white space around it.
 */
export function nodeNameOf(config: NodeProxyConfiguration, hostname: string): string {
  return (config.hostnameOverride === '' ? hostname : config.hostnameOverride).trim().toLowerCase()
}

/**
 * Whether load balancers may send traffic to this node. They may not while the node is being removed, nor after its
 * object was deleted. `before` is the Node object before the last change.
 * @returns undefined if there is no Node object, and there was none before the change
 */
export function isEligible(before: Node | undefined, now: Node | undefined): boolean | undefined {
  if (now !== undefined) return !now.leaving
  return before === undefined ? undefined : false
}

/**
 * Seconds for which removed backends drain in the forwarding table. They need not drain there, because conntrack, or
 * the mode itself, keeps established connections.
 */
const NO_DRAINING = { TCP: 0, UDP: 0, SCTP: 0 } as const

/** What the compilation of Services needs of the node, from its object, its interfaces and the configuration. */
export function nodeContext(
  config: NodeProxyConfiguration,
  name: string,
  { node, local }: { readonly node: Node | undefined; readonly local: readonly IpAddress[] },
): NodeContext {
  const addresses = [...new Set([...(node?.addresses ?? []), ...local])]
  return {
    name,
    zone: node?.zone,
    addresses: {
      4: addresses.filter((ip) => familyOf(ip) === 4),
      6: addresses.filter((ip) => familyOf(ip) === 6),
    },
    allowedExternalIPs:
      config.allowedExternalIPs.length > 0 ? config.allowedExternalIPs : undefined,
    proxyName: config.proxyName === '' ? undefined : config.proxyName,
    affinityScope: config.affinityScope,
    drainSeconds: NO_DRAINING,
  }
}
