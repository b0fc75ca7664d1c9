import type {
  AddressConflict,
  LinkStatus,
  NeighbourResponder,
  OpenNeighbourResponder,
  ResponderCounts,
} from '../../kernel/neighbours/neighbour-responder.ts'
import type { Clock } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'
import type { IpAddress } from '../../lib/ip.ts'

/** Milliseconds until a responder that could not be opened, or ended, is opened again. */
const REOPEN_MS = 1_000

const NOTHING: ResponderCounts = {
  answered: 0,
  announced: 0,
  ignored: 0,
  unsent: 0,
  conflicting: 0,
}

/** What `LinkResponders` uses. */
export interface LinkRespondersParts {
  readonly clock: Pick<Clock, 'after'>
  readonly openResponder: OpenNeighbourResponder
  readonly onConflict: (device: string, conflict: AddressConflict) => void
  /** Called when the state of an interface changed. */
  readonly onLinks: () => void
}

interface OpenLink {
  responder: NeighbourResponder | undefined
  status: LinkStatus | undefined
  isClosed: boolean
  cancelRetry: () => void
}

/** The responders of several interfaces, which all answer for the same addresses. */
export class LinkResponders {
  readonly #parts: LinkRespondersParts
  readonly #links = new Map<string, OpenLink>()
  /** Resolve when a responder that is being closed has ended; until then it may still answer. */
  readonly #closing = new Set<Promise<void>>()
  #addresses: ReadonlyMap<IpAddress, number> = new Map()
  /** What closed responders counted. */
  #counted = NOTHING

  constructor(parts: LinkRespondersParts) {
    this.#parts = parts
  }

  /** Whether one of the interfaces answers. */
  get isUp(): boolean {
    return [...this.#links.values()].some(({ status }) => status?.state === 'up')
  }

  /** The states by interface; undefined: not known yet. */
  states(): ReadonlyMap<string, LinkStatus | undefined> {
    return new Map([...this.#links].map(([device, { status }]) => [device, status]))
  }

  counts(): ResponderCounts {
    const open = [...this.#links.values()].flatMap(({ responder }) => responder?.counts() ?? [])
    return open.reduce(sum, this.#counted)
  }

  /** Replaces the interfaces. */
  async use(devices: readonly string[]): Promise<void> {
    const gone = [...this.#links].filter(([device]) => !devices.includes(device))
    for (const [device] of gone) this.#links.delete(device)
    for (const device of devices) {
      if (this.#links.has(device)) continue
      const link: OpenLink = {
        responder: undefined,
        status: undefined,
        isClosed: false,
        cancelRetry: () => undefined,
      }
      this.#links.set(device, link)
      void this.#open(device, link)
    }
    for (const [, link] of gone) {
      const ended = this.#close(link).finally(() => this.#closing.delete(ended))
      this.#closing.add(ended)
    }
    await Promise.all(this.#closing)
  }

  /** Replaces the addresses, each with the time until which it is answered; resolves when this is in force everywhere. */
  async announce(addresses: ReadonlyMap<IpAddress, number>): Promise<void> {
    this.#addresses = addresses
    const open = [...this.#links.values()].flatMap(({ responder }) => responder ?? [])
    await Promise.all([...this.#closing, ...open.map((one) => one.announce(addresses))])
  }

  close(): Promise<void> {
    return this.use([])
  }

  async #open(device: string, link: OpenLink): Promise<void> {
    const { openResponder, onConflict, onLinks } = this.#parts
    try {
      const responder = await openResponder(device, {
        onConflict: (conflict) => onConflict(device, conflict),
        onLink: (status) => {
          link.status = status
          if (!link.isClosed) onLinks()
        },
        onLost: (error) => this.#retry(device, link, error),
      })
      if (link.isClosed) return await responder.close()
      link.responder = responder
      await responder.announce(this.#addresses)
    } catch (error) {
      if (!(error instanceof NodeProxyError)) throw error
      this.#retry(device, link, error)
    }
  }

  #retry(device: string, link: OpenLink, error: NodeProxyError): void {
    if (link.responder !== undefined) this.#counted = sum(this.#counted, link.responder.counts())
    link.responder = undefined
    link.status = { state: 'failed', error }
    if (link.isClosed) return
    link.cancelRetry = this.#parts.clock.after(REOPEN_MS, () => void this.#open(device, link))
    this.#parts.onLinks()
  }

  async #close(link: OpenLink): Promise<void> {
    link.isClosed = true
    link.cancelRetry()
    await link.responder?.close()
    if (link.responder !== undefined) this.#counted = sum(this.#counted, link.responder.counts())
  }
}

function sum(a: ResponderCounts, b: ResponderCounts): ResponderCounts {
  return {
    answered: a.answered + b.answered,
    announced: a.announced + b.announced,
    ignored: a.ignored + b.ignored,
    unsent: a.unsent + b.unsent,
    conflicting: a.conflicting + b.conflicting,
  }
}
