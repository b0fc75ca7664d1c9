import { isReady } from '../forwarding/backends.ts'
import { isDeepEqual } from '../lib/equal.ts'
import { contentHash } from '../lib/hash.ts'
import type { IpAddress } from '../lib/ip.ts'
import type { EndpointSource, Service, ServiceKey } from '../resources/types.ts'

/**
 * Nodes that contend for one address. Only the first of the order take part, so that the load does not grow with the
 * cluster; the next in the order follows as soon as the announcer of one of them counts as lost.
 */
export const MAX_CONTENDERS = 16

/** A Service with what decides where its addresses are announced. */
export interface AnnouncedService {
  readonly service: Pick<
    Service,
    | 'key'
    | 'type'
    | 'loadBalancerIPs'
    | 'loadBalancerClass'
    | 'externalTrafficPolicy'
    | 'publishNotReadyAddresses'
  >
  readonly endpoints: readonly EndpointSource[]
}

/** A node that could announce addresses. */
export interface AnnouncerNode {
  readonly name: string
  /** Whether it has the label `node.kubernetes.io/exclude-from-external-load-balancers`, with any value. */
  readonly isExcluded: boolean
  /** Whether its announcer runs, is connected to the network of the addresses, and is not draining. */
  readonly isReady: boolean
}

/** One address that must be announced. */
export interface AddressPlan {
  readonly ip: IpAddress
  /** The Services with this address, sorted. */
  readonly services: readonly ServiceKey[]
  /** The first 16 of the nodes that may announce it, the preferred one first; empty if none may. */
  readonly nodes: readonly string[]
}

/** Why a node does not announce an address. */
export type NotAnnouncing = 'excluded' | 'notReady' | 'noEndpoint'

/**
 * The nodes that are ready and not excluded, and their order for each address. The order of all of them is computed once
 * for each address: at 5,000 nodes that is most of the work of a plan.
 */
export class NodeOrder {
  readonly #hashes: ReadonlyMap<string, number>
  readonly #ofAll = new Map<IpAddress, readonly string[]>()

  constructor(names: readonly string[] = []) {
    this.#hashes = new Map(names.map((name) => [name, contentHash(name)]))
  }

  /** The order of these nodes: this one, if it has the same. */
  following(nodes: readonly AnnouncerNode[]): NodeOrder {
    const fit = nodes.filter((node) => node.isReady && !node.isExcluded)
    const names = fit.map(({ name }) => name)
    return isDeepEqual(names, [...this.#hashes.keys()]) ? this : new NodeOrder(names)
  }

  /**
   * The addresses to announce and the nodes that may announce them, by address. Announced are the Services with this
   * class, and no others; undefined: those without a class.
   */
  plan(
    services: readonly AnnouncedService[],
    loadBalancerClass: string | undefined,
  ): ReadonlyMap<IpAddress, AddressPlan> {
    const plans = new Map<IpAddress, AddressPlan>()
    for (const [ip, sharing] of servicesByAddress(services, loadBalancerClass)) {
      const [first, ...others] = sharing.map(localNodes).filter((names) => names !== undefined)
      const fit = first && [...first].filter((name) => others.every((names) => names.has(name)))
      plans.set(ip, {
        ip,
        services: sharing.map(({ service }) => service.key).toSorted(),
        nodes: fit === undefined ? this.#firstOfAll(ip) : this.#firstOf(ip, fit),
      })
    }
    for (const ip of this.#ofAll.keys()) if (!plans.has(ip)) this.#ofAll.delete(ip)
    return plans
  }

  #firstOfAll(ip: IpAddress): readonly string[] {
    return this.#ofAll.getOrInsertComputed(ip, () => firstByHash(ip, this.#hashes))
  }

  #firstOf(ip: IpAddress, names: readonly string[]): readonly string[] {
    const hashes = names.flatMap((name) => {
      const hash = this.#hashes.get(name)
      return hash === undefined ? [] : [[name, hash] as const]
    })
    return firstByHash(ip, hashes)
  }
}

/** Why a node may not announce an address with these Services; undefined if it may. */
export function notAnnouncing(
  node: AnnouncerNode,
  services: readonly AnnouncedService[],
): NotAnnouncing | undefined {
  if (node.isExcluded) return 'excluded'
  if (!node.isReady) return 'notReady'
  const isFit = services.every((one) => localNodes(one)?.has(node.name) ?? true)
  return isFit ? undefined : 'noEndpoint'
}

/** The addresses that a node may announce, also while other nodes do: routers choose between the nodes. */
export function addressesOf(
  node: AnnouncerNode,
  services: readonly AnnouncedService[],
  loadBalancerClass: string | undefined,
): readonly IpAddress[] {
  return [...servicesByAddress(services, loadBalancerClass)].flatMap(([ip, sharing]) =>
    notAnnouncing(node, sharing) === undefined ? [ip] : [],
  )
}

/** The Services that are announced, by each of their addresses. */
function servicesByAddress(
  services: readonly AnnouncedService[],
  loadBalancerClass: string | undefined,
): ReadonlyMap<IpAddress, readonly AnnouncedService[]> {
  const found = new Map<IpAddress, AnnouncedService[]>()
  for (const one of services) {
    const { service } = one
    if (service.type !== 'LoadBalancer' || service.loadBalancerClass !== loadBalancerClass) continue
    for (const ip of service.loadBalancerIPs) found.getOrInsertComputed(ip, () => []).push(one)
  }
  return found
}

/**
 * The nodes with usable endpoints of a Service with `externalTrafficPolicy: Local`: those with ready endpoints; if there
 * are none in the cluster, those with endpoints that are terminating and still serve. Undefined for other Services, which
 * every node forwards: without any endpoint it refuses connections, and clients know at once.
 */
function localNodes({ service, endpoints }: AnnouncedService): ReadonlySet<string> | undefined {
  if (service.externalTrafficPolicy !== 'Local') return undefined
  const ready = new Set<string>()
  const terminating = new Set<string>()
  for (const { groups } of endpoints) {
    for (const endpoint of groups.flatMap((group) => group.endpoints)) {
      if (endpoint.nodeName === '') continue
      if (isReady(endpoint, service)) ready.add(endpoint.nodeName)
      else if (endpoint.serving && endpoint.terminating) terminating.add(endpoint.nodeName)
    }
  }
  return ready.size > 0 ? ready : terminating
}

/**
 * The first nodes by rendezvous hashing: each pair of address and node has a weight, and the node with the largest comes
 * first. A node that joins or leaves changes only the addresses that it gets or had.
 */
function firstByHash(
  ip: IpAddress,
  hashes: Iterable<readonly [name: string, hash: number]>,
): readonly string[] {
  const seed = contentHash(ip)
  const first: Weighted[] = []
  for (const [name, hash] of hashes) {
    const one = { name, weight: weightOf(seed, hash) }
    if (first.length === MAX_CONTENDERS && !isBefore(one, first.at(-1)!)) continue
    const at = first.findIndex((other) => isBefore(one, other))
    first.splice(at < 0 ? first.length : at, 0, one)
    if (first.length > MAX_CONTENDERS) first.pop()
  }
  return first.map(({ name }) => name)
}

interface Weighted {
  readonly name: string
  readonly weight: number
}

/** Names decide between equal weights, so that all nodes have the same order. */
function isBefore(a: Weighted, b: Weighted): boolean {
  return a.weight === b.weight ? a.name < b.name : a.weight > b.weight
}

/** 32 bits that depend on all bits of two hashes of 52 bits (the finalizer of MurmurHash3). */
function weightOf(seed: number, hash: number): number {
  return mix(mix(low(seed) ^ low(hash)) ^ mix(high(seed) ^ high(hash))) >>> 0
}

function low(hash: number): number {
  return hash | 0
}

function high(hash: number): number {
  return Math.floor(hash / 2 ** 32)
}

function mix(word: number): number {
  let mixed = word
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85eb_ca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2_ae35)
  return mixed ^ (mixed >>> 16)
}
