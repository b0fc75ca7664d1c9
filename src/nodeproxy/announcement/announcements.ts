import type { ClusterEvent } from '../../cluster/cluster-store.ts'
import type { IpAddress } from '../../lib/ip.ts'
import {
  AddressAnnouncements,
  type AddressAnnouncementsParts,
  type AnnouncementState,
} from './address-announcements.ts'
import { AnnouncedServices, type AnnouncedServicesParts } from './announced-services.ts'
import {
  RouteAnnouncements,
  type RouteAnnouncementsParts,
  type RoutesState,
} from './route-announcements.ts'

/** What `Announcements` uses. */
export type AnnouncementsParts = Omit<
  AddressAnnouncementsParts & RouteAnnouncementsParts & AnnouncedServicesParts,
  'services' | 'isWanted' | 'onChange'
>

/** The announcement of load balancer addresses: on the network of this node, and to routers. */
export class Announcements {
  readonly #services: AnnouncedServices
  readonly #layer2: AddressAnnouncements
  readonly #routes: RouteAnnouncements

  constructor(parts: AnnouncementsParts) {
    const { configuration } = parts
    this.#services = new AnnouncedServices({
      ...parts,
      isWanted: () => configuration.current.announcement.layer2 || this.#routes.isOn,
      onChange: (isNodeChanged) => {
        this.#layer2.changed(isNodeChanged)
        this.#routes.changed(isNodeChanged)
      },
    })
    this.#layer2 = new AddressAnnouncements({ ...parts, services: this.#services })
    this.#routes = new RouteAnnouncements({ ...parts, services: this.#services })
  }

  start(): void {
    this.#layer2.start()
    this.#routes.start()
  }

  /** Takes events that the proxy has got already. What they change is announced when its rules are in the kernel. */
  takeCluster(events: readonly ClusterEvent[]): void {
    this.#services.takeCluster(events)
  }

  /** The cluster is listed, and the kernel is being written. */
  clusterListed(): void {
    this.#services.clusterListed()
  }

  /** The configuration changed. */
  reconfigure(): void {
    this.#layer2.reconfigure()
    this.#routes.reconfigure()
  }

  /** What is announced on the network; undefined while that is off. */
  state(): AnnouncementState | undefined {
    return this.#layer2.state()
  }

  /** What is announced to routers; undefined while that is off. */
  routes(): RoutesState | undefined {
    return this.#routes.state()
  }

  /** Who announces an address, and why this node does not; undefined: it is not announced by nodes. */
  explain(ip: IpAddress): string | undefined {
    const found = [this.#layer2.explain(ip), this.#routes.explain(ip)]
    return found.filter((one) => one !== undefined).join('; ') || undefined
  }

  /** Updates the metrics that are read at each scrape. */
  refreshMetrics(): void {
    this.#layer2.refreshMetrics()
    this.#routes.refreshMetrics()
  }

  /** Hands all addresses over, withdraws all routes, and ends. */
  async stop(): Promise<void> {
    await Promise.all([this.#layer2.stop(), this.#routes.stop()])
  }
}
