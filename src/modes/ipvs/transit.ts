import type { Relay, Relays } from '../../kernel/relay/relays.ts'
import type { PolicyRoute, Routes } from '../../kernel/route/routes.ts'
import { isDeepEqual } from '../../lib/equal.ts'
import { NodeProxyError } from '../../lib/error.ts'
import type { Family, IpAddress } from '../../lib/ip.ts'
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
    return each(keys, (key) =>
      isRoute(key)
        ? refusalOf(() => this.#routes.ensure(this.#route(key)))
        : this.#relays.open(this.#relay(key)),
    )
  }

  /** Of the families of these routes, removes those that an earlier start made for another mark. */
  async tidy(keys: readonly ObjectKey[]): Promise<ReadonlyMap<ObjectKey, Refusal>> {
    return each(keys.filter(isRoute), (key) => refusalOf(() => this.#removeStrays(familyOf(key))))
  }

  async unset(keys: readonly ObjectKey[]): Promise<ReadonlyMap<ObjectKey, Refusal>> {
    return each(keys, (key) =>
      isRoute(key)
        ? refusalOf(() => this.#remove(familyOf(key)))
        : this.#relays.close(protocolOf(key), { ip: LOOPBACK, port: portOf(key) }),
    )
  }

  async observe(): Promise<ReadonlyMap<ObjectKey, Digest>> {
    const seen = new Map<ObjectKey, Digest>()
    for (const family of [4, 6] as const) {
      const wanted = this.#wanted(family)
      if ((await this.#strays(family)).length > 0) seen.set(routeKey(family), ALTERED)
      else if (wanted && (await this.#routes.holds(wanted))) seen.set(routeKey(family), PRESENT)
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

  /** Removes the routes of both families, of earlier starts too, and stops listening. */
  async removeAll(): Promise<void> {
    for (const family of [4, 6] as const) await this.#remove(family)
    for (const { protocol, listen } of this.#relays.list()) {
      await this.#relays.close(protocol, listen)
    }
  }

  async #remove(family: Family): Promise<void> {
    await this.#removeStrays(family)
    await this.#routes.remove(policyRoute(this.#settings.netfilter, family))
  }

  async #removeStrays(family: Family): Promise<void> {
    for (const stray of await this.#strays(family)) await this.#routes.remove(stray)
  }

  /** Ours, but for a mark that nothing sets any more. */
  async #strays(family: Family): Promise<readonly PolicyRoute[]> {
    const wanted = this.#wanted(family)
    const ours = await this.#routes.list()
    return ours.filter((route) => route.family === family && !isDeepEqual(route, wanted))
  }

  #wanted(family: Family): PolicyRoute | undefined {
    const { netfilter } = this.#settings
    return netfilter.families.includes(family) ? policyRoute(netfilter, family) : undefined
  }

  #route(key: ObjectKey): PolicyRoute {
    return policyRoute(this.#settings.netfilter, familyOf(key))
  }

  #relay(key: ObjectKey): Relay {
    const port = portOf(key)
    const ip = relayTarget(this.#settings) ?? LOOPBACK
    return { protocol: protocolOf(key), listen: { ip: LOOPBACK, port }, target: { ip, port } }
  }
}

async function each(
  keys: readonly ObjectKey[],
  work: (key: ObjectKey) => Promise<Refusal | void>,
): Promise<ReadonlyMap<ObjectKey, Refusal>> {
  const failed = new Map<ObjectKey, Refusal>()
  for (const key of keys) {
    const refusal = await work(key)
    if (refusal) failed.set(key, refusal)
  }
  return failed
}

async function refusalOf(work: () => Promise<unknown>): Promise<Refusal | undefined> {
  try {
    await work()
    return undefined
  } catch (error) {
    if (!(error instanceof NodeProxyError)) throw error
    return { code: error.code, message: error.message }
  }
}

function isRoute(key: ObjectKey): boolean {
  return key.startsWith('route/')
}

function familyOf(key: ObjectKey): Family {
  return nameOf(key) === '6' ? 6 : 4
}

function protocolOf(key: ObjectKey): 'TCP' | 'UDP' {
  return key.startsWith('relay/tcp/') ? 'TCP' : 'UDP'
}

function portOf(key: ObjectKey): number {
  return Number(key.slice(key.lastIndexOf('/') + 1))
}
