import type { Clock } from '../../../lib/clock.ts'
import { NodeProxyError } from '../../../lib/error.ts'
import type { IpAddress } from '../../../lib/ip.ts'
import type {
  LinkStatus,
  NeighbourResponder,
  OpenNeighbourResponder,
  ResponderCounts,
  ResponderHandlers,
} from '../neighbour-responder.ts'

const [ANNOUNCEMENTS, INTERVAL_MS, REPORT_MS, DEFEND_MS] = [3, 1_000, 60_000, 10_000]

/** A gratuitous message that all hosts of the link received. */
export interface HeardAnnouncement {
  readonly ip: IpAddress
  readonly mac: string
}

/**
 * A network on which responders announce addresses: those of one node, or of several, each opened by another name of
 * its interface. Times are those of the clock.
 */
export class FakeLink {
  /** Thrown by each attempt to open a responder. */
  refusal: NodeProxyError | undefined
  readonly heard: HeardAnnouncement[] = []
  readonly #clock: Clock
  readonly #ports = new Map<string, Port>()
  readonly #responders = new Set<FakeResponder>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  readonly open: OpenNeighbourResponder = async (device, handlers) => {
    if (this.refusal) throw this.refusal
    const link = { clock: this.#clock, hear: (said: HeardAnnouncement) => this.#hear(said) }
    const responder = new FakeResponder(link, this.#port(device), handlers)
    this.#responders.add(responder)
    return responder
  }

  /** The Ethernet addresses of all that answer a request for an address. */
  request(ip: IpAddress): readonly string[] {
    return [...this.#responders].flatMap((responder) => responder.answer(ip))
  }

  /** Another host announces an address. */
  announceAs(ip: IpAddress, mac: string): void {
    this.#hear({ ip, mac })
  }

  /** Sends each responder a message that is cut off. */
  sendTruncated(): void {
    for (const responder of this.#responders) responder.ignore()
  }

  /** Changes an interface, which is up at first; undefined removes it. */
  set(device: string, port: Port | undefined): void {
    if (port === undefined) this.#ports.delete(device)
    else this.#ports.set(device, port)
    for (const responder of this.#responders) {
      if (responder.device === device) responder.follow(port)
    }
  }

  /** The Ethernet address of an interface. */
  mac(device: string): string | undefined {
    return this.#ports.get(device)?.mac
  }

  #port(device: string) {
    const number = this.#ports.size + 1
    const port = this.#ports.get(device) ?? { state: 'up', mac: `02:00:00:00:00:0${number}` }
    this.#ports.set(device, port)
    return { device, port }
  }

  #hear(said: HeardAnnouncement): void {
    this.heard.push(said)
    for (const responder of this.#responders) responder.hear(said)
  }
}

/** An interface that is there. */
export interface Port {
  readonly state: 'up' | 'down' | 'without carrier'
  readonly mac: string
}

interface FakeAddress {
  until: number
  cancel: () => void
  reportedAt: number
  defendedAt: number
}

class FakeResponder implements NeighbourResponder {
  readonly device: string
  readonly #link: { readonly clock: Clock; hear(said: HeardAnnouncement): void }
  readonly #handlers: ResponderHandlers
  readonly #addresses = new Map<IpAddress, FakeAddress>()
  readonly #counts = { answered: 0, announced: 0, ignored: 0, unsent: 0, conflicting: 0 }
  #port: Port | undefined
  #isClosed = false

  constructor(
    link: { readonly clock: Clock; hear(said: HeardAnnouncement): void },
    { device, port }: { readonly device: string; readonly port: Port },
    handlers: ResponderHandlers,
  ) {
    this.#link = link
    this.device = device
    this.#handlers = handlers
    this.follow(port)
  }

  async announce(addresses: ReadonlyMap<IpAddress, number>): Promise<void> {
    if (this.#isClosed) return
    const now = this.#link.clock.now()
    for (const [ip, { until }] of this.#addresses) {
      if (!addresses.has(ip) || until <= now) this.#forget(ip)
    }
    for (const [ip, until] of addresses) {
      const known = this.#addresses.get(ip)
      if (until <= now) this.#forget(ip)
      else if (known) known.until = until
      else this.#add(ip, until)
    }
  }

  counts(): ResponderCounts {
    return { ...this.#counts }
  }

  async close(): Promise<void> {
    await this.announce(new Map())
    this.#isClosed = true
  }

  answer(ip: IpAddress): readonly string[] {
    if (!this.#isAnswered(ip) || this.#port?.state !== 'up') return []
    this.#counts.answered += 1
    return [this.#port.mac]
  }

  ignore(): void {
    if (this.#addresses.size > 0) this.#counts.ignored += 1
  }

  hear({ ip, mac }: HeardAnnouncement): void {
    const address = this.#addresses.get(ip)
    if (address === undefined || !this.#isAnswered(ip) || mac === this.#port?.mac) return
    const now = this.#link.clock.now()
    this.#counts.conflicting += 1
    if (now - address.defendedAt >= DEFEND_MS) {
      address.defendedAt = now
      this.#link.clock.after(0, () => this.#say(ip))
    }
    if (now - address.reportedAt < REPORT_MS) return
    address.reportedAt = now
    this.#handlers.onConflict({ ip, mac })
  }

  follow(port: Port | undefined): void {
    this.#port = port
    this.#handlers.onLink(statusOf(port))
    if (port?.state !== 'up') return
    for (const [ip, address] of this.#addresses) {
      address.cancel()
      address.cancel = this.#announceTimes(ip, ANNOUNCEMENTS)
    }
  }

  #isAnswered(ip: IpAddress): boolean {
    return this.#link.clock.now() < (this.#addresses.get(ip)?.until ?? Number.NEGATIVE_INFINITY)
  }

  #add(ip: IpAddress, until: number): void {
    const never = Number.NEGATIVE_INFINITY
    const address = { until, cancel: () => undefined, reportedAt: never, defendedAt: never }
    this.#addresses.set(ip, address)
    address.cancel = this.#announceTimes(ip, ANNOUNCEMENTS) as () => undefined
  }

  #forget(ip: IpAddress): void {
    this.#addresses.get(ip)?.cancel()
    this.#addresses.delete(ip)
  }

  #announceTimes(ip: IpAddress, times: number): () => void {
    this.#say(ip)
    if (times === 1) return () => undefined
    let cancel = this.#link.clock.after(INTERVAL_MS, () => {
      cancel = this.#announceTimes(ip, times - 1)
    })
    return () => cancel()
  }

  #say(ip: IpAddress): void {
    if (this.#port?.state !== 'up' || !this.#isAnswered(ip)) return
    this.#counts.announced += 1
    this.#link.hear({ ip, mac: this.#port.mac })
  }
}

function statusOf(port: Port | undefined): LinkStatus {
  if (port === undefined) return { state: 'absent' }
  const { state, mac } = port
  return state === 'up' ? { state, mac } : { state }
}

/** What a responder is refused with in a process without CAP_NET_RAW. */
export function withoutRights(): NodeProxyError {
  const message = 'addresses cannot be announced: cannot open a packet socket: EPERM'
  return new NodeProxyError('NP_KERNEL_NEIGHBOURS', message, {
    hint: 'give node-proxy CAP_NET_RAW',
  })
}
