import type { Relay, Relays } from '../../kernel/relay/relays.ts'
import type { Routes } from '../../kernel/route/routes.ts'
import { NodeProxyError } from '../../lib/error.ts'
import type { IpAddress } from '../../lib/ip.ts'
import type { Digest, ForeignChange, ObjectKey, Refusal } from '../mode.ts'
import { nameOf, relayKey, routeKey } from './object.ts'
import { policyRoute } from './policy-route.ts'
import { PRESENT, relayTarget } from './render.ts'
import type { IpvsSettings } from './settings.ts'

const LOOPBACK = '127.0.0.1' as IpAddress
/** A relay that leads to another address than it should. */
const ALTERED = 2 as Digest

/** How packets get to the virtual servers: the policy routes, and the relays on loopback. */
export class Transit {
  readonly #routes: Routes
  readonly #relays: Relays
  readonly #settings: IpvsSettings

  constructor(
    settings: IpvsSettings,
    kernel: { readonly routes: Routes; readonly relays: Relays },
  ) {
    this.#settings = settings
    this.#routes = kernel.routes
    this.#relays = kernel.relays
  }

  async set(keys: readonly ObjectKey[]): Promise<ReadonlyMap<ObjectKey, Refusal>> {
    const failed = new Map<ObjectKey, Refusal>()
    for (const key of keys) {
      const isRoute = key.startsWith('route/')
      const refusal = await (isRoute ? this.#ensure(key) : this.#relays.open(this.#relay(key)))
      if (refusal) failed.set(key, refusal)
    }
    return failed
  }

  async unset(keys: readonly ObjectKey[]): Promise<void> {
    for (const key of keys) {
      if (key.startsWith('route/')) await this.#routes.remove(this.#route(key))
      else await this.#relays.close(protocolOf(key), { ip: LOOPBACK, port: portOf(key) })
    }
  }

  async observe(): Promise<ReadonlyMap<ObjectKey, Digest>> {
    const seen = new Map<ObjectKey, Digest>()
    for (const family of this.#settings.netfilter.families) {
      if (await this.#routes.holds(policyRoute(this.#settings.netfilter, family))) {
        seen.set(routeKey(family), PRESENT)
      }
    }
    for (const { protocol, listen, target } of this.#relays.list()) {
      const isRight = target.ip === relayTarget(this.#settings)
      seen.set(relayKey(protocol, listen.port), isRight ? PRESENT : ALTERED)
    }
    return seen
  }

  watch(onForeignChange: (change: ForeignChange) => void): () => void {
    const keys = this.#settings.netfilter.families.map(routeKey)
    return this.#routes.watch(() => onForeignChange({ keys, by: 'another program' }))
  }

  /** Removes the routes of both families, and stops listening. */
  async removeAll(): Promise<void> {
    for (const family of [4, 6] as const) {
      await this.#routes.remove(policyRoute(this.#settings.netfilter, family))
    }
    await this.closeRelays()
  }

  /** Connections that exist go on. */
  async closeRelays(): Promise<void> {
    for (const { protocol, listen } of this.#relays.list()) {
      await this.#relays.close(protocol, listen)
    }
  }

  async #ensure(key: ObjectKey): Promise<Refusal | undefined> {
    try {
      await this.#routes.ensure(this.#route(key))
      return undefined
    } catch (error) {
      if (!(error instanceof NodeProxyError)) throw error
      return { code: error.code, message: error.message }
    }
  }

  #route(key: ObjectKey) {
    return policyRoute(this.#settings.netfilter, nameOf(key) === '6' ? 6 : 4)
  }

  #relay(key: ObjectKey): Relay {
    const port = portOf(key)
    const ip = relayTarget(this.#settings) ?? LOOPBACK
    return { protocol: protocolOf(key), listen: { ip: LOOPBACK, port }, target: { ip, port } }
  }
}

function protocolOf(key: ObjectKey): 'TCP' | 'UDP' {
  return key.startsWith('relay/tcp/') ? 'TCP' : 'UDP'
}

function portOf(key: ObjectKey): number {
  return Number(key.slice(key.lastIndexOf('/') + 1))
}
