import { addressesOf, notAnnouncing } from '../../announcement/eligible-nodes.ts'
import type { ClusterView } from '../../forwarding/node-context.ts'
import type { Addresses } from '../../kernel/addresses.ts'
import type { Clock } from '../../lib/clock.ts'
import { isDeepEqual } from '../../lib/equal.ts'
import { type Family, familyOf, hostPort, type IpAddress } from '../../lib/ip.ts'
import { Mutex } from '../../lib/mutex.ts'
import type { Conditions } from '../../telemetry/health/conditions.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { Metrics } from '../../telemetry/metrics/metrics.ts'
import type {
  BgpPeerSettings,
  BgpSettings,
  NodeProxyConfiguration,
} from '../config/fields/configuration.ts'
import { WHY_NOT } from './address-announcements.ts'
import type { AnnouncedServices } from './announced-services.ts'
import { BgpPeer, type PeerSettings } from './bgp-peer.ts'

const PAGE = 'docs/operate/announcement.md#bgp'
const REASONS = ['bgp-peer-down', 'bgp-impaired'] as const

/** What `RouteAnnouncements` uses. */
export interface RouteAnnouncementsParts {
  readonly configuration: { readonly current: Pick<NodeProxyConfiguration, 'announcement'> }
  readonly clock: Pick<Clock, 'after' | 'now'>
  /** Milliseconds of the monotonic clock. */
  readonly monotonic: () => number
  readonly addresses: Addresses
  readonly nodeName: string
  readonly cluster: Pick<ClusterView, 'node'>
  readonly services: Pick<AnnouncedServices, 'isApplied' | 'list'>
  readonly metrics: Pick<
    Metrics,
    'bgpSessionUp' | 'bgpAdvertisedRoutes' | 'bgpSessionChanges' | 'bgpMessages'
  >
  readonly conditions: Pick<Conditions, 'raise' | 'clear'>
  readonly log: Logger
}

/** A router as this node sees it. */
export interface PeerState {
  /** With the port, if it is not 179. */
  readonly peer: string
  readonly asn: number
  /** `Established`, or a state before it. */
  readonly state: string
  /** Since when it is in this state, in milliseconds since the epoch. */
  readonly since: number
  /** The addresses that are advertised to it. */
  readonly routes: readonly IpAddress[]
  /** Why there is no session; empty: there is one, or none was tried yet. */
  readonly failure: string
}

/** What is announced to routers. */
export interface RoutesState {
  readonly peers: readonly PeerState[]
  /** What prevents announcements, in sentences. */
  readonly problems: readonly string[]
}

/**
 * Announces load balancer addresses to routers by BGP, while `announcement.bgp.peers` names some: each node announces all
 * addresses for which it is fit, with itself as the next hop, so that routers choose between the nodes.
 */
export class RouteAnnouncements {
  readonly #parts: RouteAnnouncementsParts
  readonly #mutex = new Mutex()
  /** By the settings of the session. */
  readonly #peers = new Map<string, BgpPeer>()
  readonly #established = new Set<BgpPeer>()
  /** The messages of each session that the metric has, by their direction and kind. */
  readonly #counted = new WeakMap<BgpPeer, Map<string, number>>()
  /** The addresses of this node's interfaces. */
  #local: Awaited<ReturnType<Addresses['list']>> = []
  /** The addresses that this node announces. */
  #fit: readonly IpAddress[] = []
  #isStopped = false
  #stopAddresses: () => void = () => undefined
  #cancelRetry: () => void = () => undefined

  constructor(parts: RouteAnnouncementsParts) {
    this.#parts = parts
  }

  /** Whether addresses are announced to routers. */
  get isOn(): boolean {
    return this.#settings.peers.length > 0
  }

  start(): void {
    this.#stopAddresses = this.#parts.addresses.watch(() => this.reconfigure())
    this.reconfigure()
  }

  /** The configuration, or an address of this node, changed. */
  reconfigure(): void {
    this.#mutex.run(() => this.#follow()).catch(this.#failed)
  }

  /** The Services, or this node, changed and are in the kernel. */
  changed(isNodeChanged: boolean): void {
    if (isNodeChanged) this.reconfigure()
    else this.#advertise()
  }

  /** Undefined while the setting is off. */
  state(): RoutesState | undefined {
    if (!this.isOn) return undefined
    const peers = [...this.#peers.values()].map((peer) => this.#stateOf(peer))
    return { peers, problems: [...this.#problems().values()].flat() }
  }

  /** To which routers this node announces an address, or why it does not; undefined: it is announced to none. */
  explain(ip: IpAddress): string | undefined {
    const services = this.#parts.services
      .list()
      .filter(({ service: { loadBalancerIPs, loadBalancerClass } }) => {
        return loadBalancerClass === this.#class && loadBalancerIPs.includes(ip)
      })
    if (!this.isOn || services.length === 0) return undefined
    const holding = [...this.#peers.values()].filter(({ session }) => session.advertised.has(ip))
    if (holding.length > 0)
      return `this node announces it by BGP to ${holding.map(nameOf).join(', ')}`
    const why = notAnnouncing(this.#self(), services)
    if (why !== undefined) return `this node does not announce it by BGP: ${WHY_NOT[why]}`
    const isOwn = this.#local.some((one) => one.ip === ip)
    const cause = isOwn ? 'it is an address of this node' : [...this.#problems().values()].flat()[0]
    return `this node does not announce it by BGP: ${cause ?? 'no session is established yet'}`
  }

  /** Updates the metrics that are read at each scrape. */
  refreshMetrics(): void {
    const { bgpSessionUp, bgpAdvertisedRoutes } = this.#parts.metrics
    bgpSessionUp.reset()
    bgpAdvertisedRoutes.reset()
    for (const one of this.#peers.values()) {
      const peer = nameOf(one)
      bgpSessionUp.set({ peer }, one.session.state === 'Established' ? 1 : 0)
      bgpAdvertisedRoutes.set({ peer }, one.session.advertised.size)
      this.#count(one)
    }
  }

  /** Withdraws all routes, ends the sessions, and ends. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#stopAddresses()
    this.#cancelRetry()
    await this.#mutex.run(() => this.#end([...this.#peers.keys()]))
  }

  readonly #failed = (error: unknown): void => {
    const { log, clock } = this.#parts
    log.error({ err: error }, 'announcing addresses by BGP failed')
    this.#cancelRetry()
    if (this.#isStopped) return
    this.#cancelRetry = clock.after(this.#settings.connectRetry, () => this.reconfigure())
  }

  get #settings(): BgpSettings {
    return this.#parts.configuration.current.announcement.bgp
  }

  /** `spec.loadBalancerClass` of the Services that are announced; undefined: of those without a class. */
  get #class(): string | undefined {
    return this.#parts.configuration.current.announcement.loadBalancerClass || undefined
  }

  get #nodeAddresses(): readonly IpAddress[] {
    return this.#parts.cluster.node(this.#parts.nodeName)?.addresses ?? []
  }

  /** Empty: there is none. */
  get #routerID(): string {
    return this.#settings.routerID || this.#nodeAddresses.find((ip) => familyOf(ip) === 4) || ''
  }

  /** This node as `notAnnouncing` judges it. */
  #self() {
    const { cluster, nodeName, services } = this.#parts
    const node = cluster.node(nodeName)
    return {
      name: nodeName,
      isExcluded: node?.excludedFromLoadBalancers === true,
      isReady: services.isApplied && node?.leaving !== true,
    }
  }

  /** Opens and ends sessions, so that there is one for each configured peer with its settings. */
  async #follow(): Promise<void> {
    if (this.#isStopped) return
    if (this.isOn) this.#local = await this.#parts.addresses.list()
    const wanted = this.#wanted()
    const gone = [...this.#peers.keys()].filter((key) => !wanted.has(key))
    await this.#end(gone)
    for (const [key, settings] of wanted) {
      if (this.#isStopped || this.#peers.has(key)) continue
      const onChange = (one: BgpPeer) => this.#changedPeer(one)
      const peer = new BgpPeer({ ...this.#parts, settings, onChange })
      this.#peers.set(key, peer)
      peer.start()
    }
    this.#advertise()
  }

  #wanted(): ReadonlyMap<string, PeerSettings> {
    const { localASN, holdTime, connectRetry, peers } = this.#settings
    const routerID = this.#routerID as IpAddress
    if (routerID === '' || this.#isStopped) return new Map()
    return new Map(
      peers.map(({ address, port, asn: peerASN, sourceAddress }) => {
        const session = { localASN, peerASN, routerID, holdTime: holdTime / 1_000, connectRetry }
        const settings = { ...session, address, port, sourceAddress }
        return [JSON.stringify(settings), settings]
      }),
    )
  }

  async #end(keys: readonly string[]): Promise<void> {
    const ending = keys.map(async (key) => {
      const peer = this.#peers.get(key)
      if (peer === undefined) return
      const reason = this.#configured(peer) === undefined ? 'deconfigured' : 'changed'
      await peer.stop(this.#isStopped ? 'shutdown' : reason)
      this.#count(peer)
      this.#peers.delete(key)
    })
    await Promise.all(ending)
  }

  /** Advertises to every peer what this node announces now. */
  #advertise(): void {
    const local = new Set(this.#local.map(({ ip }) => ip))
    const fit = this.isOn ? addressesOf(this.#self(), this.#parts.services.list(), this.#class) : []
    const before = this.#fit
    this.#fit = fit.filter((ip) => !local.has(ip)).toSorted()
    for (const peer of this.#peers.values()) this.#advertiseTo(peer)
    this.#review()
    if (isDeepEqual(before, this.#fit)) return
    this.#parts.log.info({ addresses: this.#fit }, 'addresses announced to routers')
  }

  #advertiseTo(peer: BgpPeer): void {
    const { communities: ofPeer = [] } = this.#configured(peer) ?? {}
    const communities = [...this.#settings.communities, ...ofPeer]
    const nextHops = { 4: this.#nextHop(peer, 4), 6: this.#nextHop(peer, 6) }
    const routes = this.#fit.flatMap((ip) => {
      const nextHop = nextHops[familyOf(ip)]
      return nextHop === undefined ? [] : [[ip, { nextHop, communities }] as const]
    })
    peer.advertise(new Map(routes))
  }

  /** The peer as the configuration has it now; undefined: it has none with this address. */
  #configured({ settings: { address, port } }: BgpPeer): BgpPeerSettings | undefined {
    return this.#settings.peers.find((one) => one.address === address && one.port === port)
  }

  /** The address of this node in the session; of the other family one of the Node object, if possible at that interface. */
  #nextHop({ settings, localAddress }: BgpPeer, family: Family): IpAddress | undefined {
    if (family === familyOf(settings.address)) return localAddress
    const device = this.#local.find(({ ip }) => ip === localAddress)?.device
    const own = this.#nodeAddresses.filter((ip) => familyOf(ip) === family)
    const isBeside = (ip: IpAddress) =>
      this.#local.some((one) => one.ip === ip && one.device === device)
    return own.find(isBeside) ?? own[0]
  }

  #changedPeer(peer: BgpPeer): void {
    const { metrics, log } = this.#parts
    const { session } = peer
    const isUp = session.state === 'Established'
    const name = nameOf(peer)
    if (isUp !== this.#established.has(peer)) {
      metrics.bgpSessionChanges.inc({ peer: name, change: isUp ? 'established' : 'ended' })
      if (isUp) log.info({ peer: name }, 'BGP session established')
      else log.warn({ peer: name, reason: session.failure ?? 'stopped' }, 'BGP session ended')
    }
    if (isUp) this.#established.add(peer)
    else this.#established.delete(peer)
    // The next hop is the address of this node in the connection, which is known now.
    if (session.state === 'OpenSent') this.#advertiseTo(peer)
    this.#review()
  }

  /** Sentences by the reason of their condition. */
  #problems(): ReadonlyMap<(typeof REASONS)[number], readonly string[]> {
    const problems = new Map<(typeof REASONS)[number], readonly string[]>()
    if (!this.isOn || this.#isStopped) return problems
    const down = [...this.#peers.values()].flatMap((peer) => {
      const { state, failure } = peer.session
      const { peerASN } = peer.settings
      if (state === 'Established' || failure === undefined) return []
      return `BGP peer ${nameOf(peer)} of AS ${peerASN} is not established: ${failure}`
    })
    if (down.length > 0) problems.set('bgp-peer-down', down)
    const impaired = [...this.#impairments()]
    if (impaired.length > 0) problems.set('bgp-impaired', impaired)
    return problems
  }

  *#impairments(): Iterable<string> {
    if (this.#routerID === '') {
      yield 'no BGP session is opened: the Node object has no IPv4 address that could be the router ID; set announcement.bgp.routerID'
    }
    for (const family of [4, 6] as const) {
      if (!this.#fit.some((ip) => familyOf(ip) === family)) continue
      for (const peer of this.#peers.values()) {
        const { families } = peer.session
        if (families === undefined) continue
        if (!families.includes(family)) {
          yield `IPv${family} addresses are not announced to BGP peer ${nameOf(peer)}: it takes no IPv${family} routes; configure this family for this node there`
        } else if (this.#nextHop(peer, family) === undefined) {
          yield `IPv${family} addresses are not announced to BGP peer ${nameOf(peer)}: the Node object has no IPv${family} address that could be the next hop`
        }
      }
    }
  }

  /** Raises and clears the conditions. */
  #review(): void {
    const { conditions } = this.#parts
    const problems = this.#problems()
    for (const reason of REASONS) {
      const found = problems.get(reason)
      if (found === undefined) conditions.clear(reason)
      else {
        const message = `${found.join('; ')}; see ${PAGE}`
        conditions.raise(reason, { message, blocksReadiness: false })
      }
    }
  }

  #stateOf(peer: BgpPeer): PeerState {
    const { clock, monotonic } = this.#parts
    const { state, since, advertised, failure } = peer.session
    return {
      peer: nameOf(peer),
      asn: peer.settings.peerASN,
      state,
      since: Math.round(clock.now() - (monotonic() - since)),
      routes: [...advertised.keys()].toSorted(),
      failure: state === 'Established' ? '' : (failure ?? ''),
    }
  }

  /** Adds the messages of a session since the last time to the metric. */
  #count(one: BgpPeer): void {
    const peer = nameOf(one)
    const counted = this.#counted.getOrInsertComputed(one, () => new Map())
    for (const direction of ['sent', 'received'] as const) {
      for (const [kind, count] of Object.entries(one.session.counts[direction])) {
        const key = `${direction} ${kind}`
        const labels = { peer, direction, kind }
        this.#parts.metrics.bgpMessages.inc(labels, count - (counted.get(key) ?? 0))
        counted.set(key, count)
      }
    }
  }
}

function nameOf({ settings: { address, port } }: BgpPeer): string {
  return port === 179 ? address : hostPort(address, port)
}
