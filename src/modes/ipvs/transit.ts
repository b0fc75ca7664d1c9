import type { Relay, Relays } from '../../kernel/relay/relays.ts'
import type { Routes } from '../../kernel/route/routes.ts'
import type { IpAddress } from '../../lib/ip.ts'
import type { Digest, ForeignChange, KernelError, ObjectKey } from '../mode.ts'
import { ALTERED, ofKind, PRESENT } from '../netfilter/object-key.ts'
import { PolicyRoutes, ROUTE_TABLES, refusalsOf } from '../netfilter/policy-routes.ts'
import { relayKey } from './objects/object.ts'
import { relayTarget } from './render.ts'
import type { IpvsSettings } from './settings.ts'

type Refusals = ReadonlyMap<ObjectKey, KernelError>

const LOOPBACK = '127.0.0.1' as IpAddress

/**
 * How packets get to the virtual servers: the policy routes, and the relays on loopback.
 * Refusals are values by object (`NP_KERNEL_ROUTE`, `NP_KERNEL_RELAY`).
 */
export class Transit {
  readonly #routes: PolicyRoutes
  readonly #relays: Relays
  readonly #settings: IpvsSettings

  constructor(
    settings: IpvsSettings,
    kernel: { readonly routes: Routes; readonly relays: Relays },
  ) {
    this.#settings = settings
    this.#routes = new PolicyRoutes(settings.netfilter, kernel.routes, ROUTE_TABLES.ipvs)
    this.#relays = kernel.relays
  }

  /** Makes these routes and relays as the settings have them. */
  async set(keys: readonly ObjectKey[]): Promise<Refusals> {
    const routes = await this.#routes.set(ofKind(keys, 'route'))
    const relays = await refusalsOf(ofKind(keys, 'relay'), (key) =>
      this.#relays.open(this.#relay(key)),
    )
    return new Map([...routes, ...relays])
  }

  /** Removes routes that an earlier start made for another mark, in the families of these routes. */
  tidy(keys: readonly ObjectKey[]): Promise<Refusals> {
    return this.#routes.tidy(ofKind(keys, 'route'))
  }

  /** Removes these; objects that are already gone are not failures. */
  async unset(keys: readonly ObjectKey[]): Promise<Refusals> {
    const routes = await this.#routes.unset(ofKind(keys, 'route'))
    const relays = await refusalsOf(ofKind(keys, 'relay'), (key) =>
      this.#relays.close(protocolOf(key), { ip: LOOPBACK, port: portOf(key) }),
    )
    return new Map([...routes, ...relays])
  }

  /** All existing routes and relays; a relay to another address than ours counts as altered. */
  async observe(): Promise<ReadonlyMap<ObjectKey, Digest>> {
    const seen = new Map(await this.#routes.observe())
    for (const { protocol, listen, target } of this.#relays.list()) {
      const isRight = target.ip === relayTarget(this.#settings)
      seen.set(relayKey(protocol, listen.port), isRight ? PRESENT : ALTERED)
    }
    return seen
  }

  /** Reports routes that other processes change; returns a function that stops it. */
  watch(onForeignChange: (change: ForeignChange) => void): () => void {
    return this.#routes.watch(onForeignChange)
  }

  /** Removes the routes of both families, of earlier starts too, and stops listening. */
  async removeAll(): Promise<void> {
    await this.#routes.removeAll()
    for (const { protocol, listen } of this.#relays.list()) {
      await this.#relays.close(protocol, listen)
    }
  }

  /** @throws TypeError if the settings have no target: then `render` makes no relay */
  #relay(key: ObjectKey): Relay {
    const port = portOf(key)
    const ip = relayTarget(this.#settings)
    if (ip === undefined) throw new TypeError(`${key} has no target`)
    return { protocol: protocolOf(key), listen: { ip: LOOPBACK, port }, target: { ip, port } }
  }
}

function protocolOf(key: ObjectKey): 'TCP' | 'UDP' {
  return key.startsWith('relay/tcp/') ? 'TCP' : 'UDP'
}

function portOf(key: ObjectKey): number {
  return Number(key.slice(key.lastIndexOf('/') + 1))
}
