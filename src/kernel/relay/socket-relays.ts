import { type Clock, systemClock } from '../../lib/clock.ts'
import {
  RELAY_LIMITS,
  type RelayEnvironment,
  type RelayLimits,
  type RelayServer,
} from './relay-server.ts'
import {
  type Relay,
  type RelayAddress,
  type RelayProtocol,
  type RelayRefusal,
  type Relays,
  relayKey,
} from './relays.ts'
import { openTcpRelay } from './tcp-relay.ts'
import { openUdpRelay } from './udp-relay.ts'

/** Relays that use sockets of this process, in its network namespace. */
export class SocketRelays implements Relays {
  readonly #environment: RelayEnvironment
  readonly #listening = new Map<string, { relay: Relay; readonly server: RelayServer }>()
  /** Servers that listen, or whose last connections have not ended. */
  readonly #servers = new Set<RelayServer>()
  #last: Promise<unknown> = Promise.resolve()

  constructor(clock: Clock = systemClock, limits: Partial<RelayLimits> = {}) {
    this.#environment = { clock, limits: { ...RELAY_LIMITS, ...limits } }
  }

  open(relay: Relay): Promise<RelayRefusal | undefined> {
    return this.#inTurn(() => this.#open(relay))
  }

  close(protocol: RelayProtocol, listen: RelayAddress): Promise<void> {
    return this.#inTurn(() => {
      const key = relayKey(protocol, listen)
      this.#listening.get(key)?.server.close()
      this.#listening.delete(key)
    })
  }

  list(): readonly Relay[] {
    return [...this.#listening.values()].map(({ relay }) => relay)
  }

  connections(): number {
    return [...this.#servers].reduce((sum, { connections }) => sum + connections, 0)
  }

  closeAll(): Promise<void> {
    return this.#inTurn(async () => {
      this.#listening.clear()
      const servers = [...this.#servers]
      for (const server of servers) server.reset()
      await Promise.all(servers.map(({ ended }) => ended))
    })
  }

  async #open(relay: Relay): Promise<RelayRefusal | undefined> {
    const key = relayKey(relay.protocol, relay.listen)
    const known = this.#listening.get(key)
    if (known !== undefined) {
      known.relay = relay
      known.server.retarget(relay.target)
      return undefined
    }
    const open = relay.protocol === 'TCP' ? openTcpRelay : openUdpRelay
    try {
      const server = await open(relay, this.#environment)
      this.#listening.set(key, { relay, server })
      this.#servers.add(server)
      void server.ended.then(() => this.#servers.delete(server))
      return undefined
    } catch (error) {
      return { code: 'NP_KERNEL_RELAY', message: `cannot listen on ${key}: ${reasonOf(error)}` }
    }
  }

  #inTurn<T>(task: () => T | Promise<T>): Promise<T> {
    const result = this.#last.then(task)
    this.#last = result.catch(() => undefined)
    return result
  }
}

function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : String(error)
}
