import type { LeaseWrite } from '../../announcement/election.ts'
import { electionTiming } from '../../announcement/election-timing.ts'
import {
  type AddressPlan,
  NodeOrder,
  type NotAnnouncing,
  notAnnouncing,
} from '../../announcement/eligible-nodes.ts'
import type { ApiFailures } from '../../client/http/api-failures.ts'
import type { ClusterView } from '../../forwarding/node-context.ts'
import type { Addresses } from '../../kernel/addresses.ts'
import { FormerNodes } from '../../kernel/neighbours/former-nodes.ts'
import type { OpenNeighbourResponder } from '../../kernel/neighbours/neighbour-responder.ts'
import type { Nftables } from '../../kernel/nftables/nftables.ts'
import { isDeepEqual } from '../../lib/equal.ts'
import { familyOf, type IpAddress } from '../../lib/ip.ts'
import { Mutex } from '../../lib/mutex.ts'
import { regularly } from '../../lib/regularly.ts'
import type { Conditions } from '../../telemetry/health/conditions.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { Metrics } from '../../telemetry/metrics/metrics.ts'
import type { NodeProxyConfiguration } from '../config/fields/configuration.ts'
import type { AnnouncedServices } from './announced-services.ts'
import { AnnouncementProblems, type SeenAnnouncements } from './announcement-problems.ts'
import { AnnouncerNodes, type OwnState } from './announcer-nodes.ts'
import { ElectionRunner } from './election-runner.ts'
import { LeaseClient, type LeaseClientParts } from './lease-client.ts'
import { LinkResponders } from './link-responders.ts'

/** Milliseconds between two reviews of what keeps addresses from being announced. */
const REVIEW_MS = 5_000
/** The settings without those of routers. */
type Settings = Omit<NodeProxyConfiguration['announcement'], 'bgp'>

/** Why a node does not announce an address, in words. */
export const WHY_NOT: Readonly<Record<NotAnnouncing, string>> = {
  excluded: 'it has the label exclude-from-external-load-balancers',
  noEndpoint: 'externalTrafficPolicy is Local, and it has no endpoint that is ready',
  notReady: 'its rules are not complete yet',
}

/** What `AddressAnnouncements` uses. */
export interface AddressAnnouncementsParts extends Omit<LeaseClientParts, 'reporter'> {
  readonly configuration: {
    readonly current: Pick<NodeProxyConfiguration, 'announcement'>
  }
  readonly apiFailures: Pick<ApiFailures, 'failed' | 'succeeded' | 'present'>
  readonly addresses: Addresses
  readonly openResponder: OpenNeighbourResponder
  readonly openNftables: () => Nftables
  /** Milliseconds of the monotonic clock, which the responders compare with. */
  readonly monotonic: () => number
  readonly nodeName: string
  readonly cluster: ClusterView
  readonly services: Pick<AnnouncedServices, 'byKey' | 'isApplied' | 'list'>
  readonly metrics: Pick<
    Metrics,
    | 'announcedAddresses'
    | 'announcementChanges'
    | 'announcementLeaseWrites'
    | 'announcementMessages'
  >
  readonly conditions: Pick<Conditions, 'raise' | 'clear'>
  readonly log: Logger
}

interface Running {
  readonly settings: Settings
  readonly links: LinkResponders
  readonly nodes: AnnouncerNodes
  readonly runner: ElectionRunner
  readonly formerNodes: FormerNodes
  readonly stopAddresses: () => void
}

/** What a node announces. */
export interface AnnouncementState {
  /** The addresses that this node answers for. */
  readonly addresses: readonly IpAddress[]
  /** How many addresses nodes announce, as this node sees it. */
  readonly known: number
  /** What prevents announcements, in sentences. */
  readonly problems: readonly string[]
}

/** For each address that another node released for this one: the address of that node, while it is there. */
function formerNodesOf(
  runner: ElectionRunner,
  nodes: AnnouncerNodes,
): ReadonlyMap<IpAddress, IpAddress> {
  return new Map(
    runner.answering.flatMap((ip) => {
      const node = runner.releasedBy(ip)
      const addresses = node === undefined ? [] : nodes.addressesOf(node)
      const former = addresses.find((one) => familyOf(one) === familyOf(ip))
      return former === undefined ? [] : [[ip, former] as const]
    }),
  )
}

/**
 * Announces load balancer addresses on the network of this node, while `announcement.layer2` is on: follows which nodes
 * could announce which address, runs the election over Leases, and has responders answer for what this node holds.
 */
export class AddressAnnouncements {
  readonly #parts: AddressAnnouncementsParts
  readonly #mutex = new Mutex()
  readonly #problems: AnnouncementProblems
  #running: Running | undefined
  #plans: ReadonlyMap<IpAddress, AddressPlan> = new Map()
  #order = new NodeOrder()
  #counted: Readonly<Record<string, number>> = {}
  /** The addresses of this node's interfaces. */
  #local: ReadonlySet<IpAddress> = new Set()
  /** The interfaces at which addresses are announced; undefined: not read yet. */
  #devices: readonly string[] | undefined
  /** Whether `addresses` could be read since the last change; otherwise it is tried again. */
  #isRead = true
  #isStopped = false
  #stopReviews: () => void = () => {}

  constructor(parts: AddressAnnouncementsParts) {
    this.#parts = parts
    this.#problems = new AnnouncementProblems({ ...parts, services: parts.services.byKey })
  }

  start(): void {
    const { clock } = this.#parts
    const round = async () => {
      if (!this.#isRead) this.#followDevices()
      this.#review()
      // The addresses of a node that left are forgotten after a time; then nothing is passed on to it any more.
      const running = this.#running
      if (running) await running.formerNodes.use(formerNodesOf(running.runner, running.nodes))
    }
    this.#stopReviews = regularly({ clock, everyMs: REVIEW_MS, round, onError: this.#failed })
    this.reconfigure()
  }

  /** What this node publishes changed, or Services did and are in the kernel. */
  changed(isNodeChanged = false): void {
    if (this.#running === undefined) return
    if (isNodeChanged) this.#followDevices()
    this.#running.nodes.publish()
    this.#plan()
    this.#review()
  }

  /** The configuration changed. */
  reconfigure(): void {
    this.#mutex.run(() => this.#followSettings()).catch(this.#failed)
  }

  /** What is announced; undefined while the setting is off. */
  state(): AnnouncementState | undefined {
    const running = this.#running
    if (running === undefined) return undefined
    const addresses = running.runner.answering.toSorted()
    const problems = [...this.#problems.find(this.#seen(running)).values()]
    return { addresses, known: this.#plans.size, problems }
  }

  /** Which node announces an address, since when, and why this node does not; undefined: it is not announced here. */
  explain(ip: IpAddress): string | undefined {
    const running = this.#running
    const plan = this.#plans.get(ip)
    if (running === undefined || plan === undefined) return undefined
    const { nodeName } = this.#parts
    const holder = running.runner.holder(ip)
    const since = holder && holder.since > 0 ? ` since ${new Date(holder.since).toISOString()}` : ''
    if (running.runner.answering.includes(ip)) {
      const isPassedOn = formerNodesOf(running.runner, running.nodes).has(ip)
      const former = running.runner.releasedBy(ip)
      const passedOn = isPassedOn ? `; connections that began at ${former} go on there` : ''
      return `this node announces it${since}${passedOn}`
    }
    const why = this.#whyNot(running, plan)
    const first = plan.nodes[0]
    if (holder === undefined) {
      const who = first === undefined ? 'no node may announce it' : `${first} is to announce it`
      return why === undefined
        ? `no node announces it yet, as far as this node sees; ${who}`
        : `${who}; this node does not: ${why}`
    }
    if (holder.node === nodeName)
      return `this node holds its Lease${since} and does not answer: it could not renew it, or gives it up`
    return `${holder.node} announces it${since}; this node does not: ${why ?? `${holder.node} holds the Lease`}`
  }

  /** Updates the metrics that are read at each scrape. */
  refreshMetrics(): void {
    const { announcedAddresses, announcementMessages } = this.#parts.metrics
    announcedAddresses.set(this.#running?.runner.answering.length ?? 0)
    const counts = this.#running?.links.counts()
    if (counts === undefined) return
    for (const [kind, count] of Object.entries(counts)) {
      announcementMessages.inc({ kind }, Math.max(0, count - (this.#counted[kind] ?? 0)))
    }
    this.#counted = { ...counts }
  }

  /** Hands all addresses over, and ends. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#stopReviews()
    await this.#mutex.run(() => this.#end())
  }

  readonly #failed = (error: unknown): void => {
    this.#parts.log.error({ err: error }, 'announcing addresses failed')
  }

  get #settings(): Settings {
    const { bgp: _ofRouters, ...settings } = this.#parts.configuration.current.announcement
    return settings
  }

  async #followSettings(): Promise<void> {
    if (this.#isStopped || isDeepEqual(this.#running?.settings, this.#settings)) return
    await this.#end()
    if (this.#settings.layer2 && !this.#isStopped) this.#begin(this.#settings)
    this.changed()
  }

  #begin(settings: Settings): void {
    const { apiFailures: reporter, metrics, log, addresses } = this.#parts
    const leases = new LeaseClient({ ...this.#parts, reporter })
    const links = new LinkResponders({
      ...this.#parts,
      onConflict: (device, conflict) => {
        this.#problems.addConflict(device, conflict)
        this.#review()
      },
      onLinks: () => this.changed(),
    })
    const own = () => this.#own(settings, links)
    const nodes = new AnnouncerNodes({ ...this.#parts, leases, own, onChange: () => this.#plan() })
    const formerNodes = new FormerNodes({
      ...this.#parts,
      onRefused: (cause) =>
        log.warn({ cause }, 'connections under way break when an address moves to this node'),
    })
    const runner = new ElectionRunner({
      ...this.#parts,
      leases,
      links,
      timing: electionTiming(settings),
      onWrite: (reason: LeaseWrite['reason'], outcome) =>
        metrics.announcementLeaseWrites.inc({ reason, outcome }),
      onAnswers: (begun, ended) => {
        metrics.announcementChanges.inc({ change: 'begun' }, begun.length)
        metrics.announcementChanges.inc({ change: 'ended' }, ended.length)
        if (begun.length > 0) log.info({ addresses: begun }, 'announcing addresses')
        if (ended.length > 0) log.info({ addresses: ended }, 'no longer announcing addresses')
        return formerNodes.use(formerNodesOf(runner, nodes))
      },
    })
    const stopAddresses = addresses.watch(() => this.#followDevices())
    this.#running = { settings, links, nodes, runner, formerNodes, stopAddresses }
    this.#devices = undefined
    nodes.start()
    this.#followDevices()
  }

  async #end(): Promise<void> {
    const running = this.#running
    if (running === undefined) return
    const { nodes, runner, links, formerNodes, stopAddresses } = running
    stopAddresses()
    // The others see first that this node leaves, so that they take its addresses at once when it releases them.
    await nodes.withdraw()
    await runner.drain()
    await Promise.all([nodes.close(), runner.close()])
    await Promise.all([links.close(), formerNodes.close()])
    this.refreshMetrics()
    this.#running = undefined
    this.#plans = new Map()
    this.#counted = {}
    this.#review()
  }

  /** What this node publishes of itself. */
  #own({ loadBalancerClass }: Settings, links: LinkResponders): OwnState {
    const node = this.#parts.cluster.node(this.#parts.nodeName)
    return {
      isExcluded: node?.excludedFromLoadBalancers === true,
      isReady: links.isUp && this.#parts.services.isApplied && node?.leaving !== true,
      loadBalancerClass: loadBalancerClass || undefined,
      addresses: node?.addresses ?? [],
    }
  }

  #followDevices(): void {
    this.#mutex.run(() => this.#readDevices()).catch(this.#failed)
  }

  /** Announces at the configured interfaces, or those that have an address of the Node object. */
  async #readDevices(): Promise<void> {
    const { addresses, cluster, nodeName } = this.#parts
    const running = this.#running
    if (running === undefined) return
    this.#isRead = false
    const all = await addresses.list()
    this.#isRead = true
    const local = new Set(all.map(({ ip }) => ip))
    const isSame = isDeepEqual([...local], [...this.#local])
    this.#local = local
    if (!isSame) this.#plan()
    const own = new Set(cluster.node(nodeName)?.addresses ?? [])
    const found = all.filter(({ ip }) => own.has(ip)).map(({ device }) => device)
    const { interfaces } = running.settings
    const devices = interfaces.length > 0 ? interfaces : [...new Set(found)]
    if (isDeepEqual(devices, this.#devices)) return
    this.#devices = devices
    await running.links.use(devices)
    this.changed()
  }

  #plan(): void {
    const running = this.#running
    if (running === undefined || !this.#parts.services.isApplied || !running.nodes.isListed) return
    const known = running.nodes.nodes()
    const loadBalancerClass = running.settings.loadBalancerClass || undefined
    const ofClass = known.filter((node) => node.loadBalancerClass === loadBalancerClass)
    this.#order = this.#order.following(ofClass)
    const taken = new Set([...this.#local, ...known.flatMap(({ addresses }) => addresses)])
    const all = this.#order.plan(this.#parts.services.list(), loadBalancerClass)
    this.#plans = new Map([...all].filter(([ip]) => !taken.has(ip)))
    running.runner.plan(new Map([...this.#plans].map(([ip, plan]) => [ip, plan.nodes])))
  }

  /** Why this node does not announce an address, also if another one does; undefined: it may. */
  #whyNot(running: Running, { services, nodes }: AddressPlan): string | undefined {
    const { nodeName } = this.#parts
    const self = { ...this.#own(running.settings, running.links), name: nodeName }
    const why = notAnnouncing(self, this.#parts.services.list(services))
    if (why === 'notReady') return this.#problem(running) ?? WHY_NOT.notReady
    if (why !== undefined) return WHY_NOT[why]
    if (!nodes.includes(nodeName)) return 'other nodes come before it in the order of this address'
    return nodes[0] === nodeName
      ? undefined
      : `${nodes[0]} comes first in the order of this address`
  }

  /** What impairs this node; undefined: nothing. */
  #problem({ links, runner }: Running): string | undefined {
    if (this.#devices === undefined) return undefined
    if (this.#devices.length === 0) {
      return 'no interface has an address of the Node object; set announcement.interfaces'
    }
    const failure = this.#parts.apiFailures.present('leases')
    if (failure !== undefined && runner.answering.length === 0) {
      return `Leases cannot be read or written: ${failure.description}`
    }
    for (const [device, status] of links.states()) {
      if (status?.state === 'failed') return `${device}: ${status.error.message}`
      if (status !== undefined && status.state !== 'up')
        return `interface ${device} is ${status.state}`
    }
    return undefined
  }

  #review(): void {
    const running = this.#running
    this.#problems.review(running && this.#seen(running))
  }

  #seen(running: Running): SeenAnnouncements {
    return {
      impairment: this.#problem(running),
      plans: this.#plans,
      hasAnnouncer: (ip) => running.runner.holder(ip) !== undefined,
    }
  }
}
