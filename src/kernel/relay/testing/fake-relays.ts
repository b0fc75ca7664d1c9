import {
  type Relay,
  type RelayAddress,
  type RelayProtocol,
  type RelayRefusal,
  type Relays,
  relayKey,
} from '../relays.ts'

/** Opens no sockets; the test decides which addresses are taken and how many connections exist. */
export class FakeRelays implements Relays {
  /** Keys (`relayKey`) that `open` refuses. */
  readonly taken = new Set<string>()
  openConnections = 0
  readonly #relays = new Map<string, Relay>()

  async open(relay: Relay): Promise<RelayRefusal | undefined> {
    const key = relayKey(relay.protocol, relay.listen)
    if (this.taken.has(key)) {
      return { code: 'NP_KERNEL_RELAY', message: `cannot listen on ${key}: EADDRINUSE` }
    }
    this.#relays.set(key, relay)
    return undefined
  }

  async close(protocol: RelayProtocol, listen: RelayAddress): Promise<void> {
    this.#relays.delete(relayKey(protocol, listen))
  }

  list(): readonly Relay[] {
    return [...this.#relays.values()]
  }

  connections(): number {
    return this.openConnections
  }

  async closeAll(): Promise<void> {
    this.#relays.clear()
    this.openConnections = 0
  }
}
