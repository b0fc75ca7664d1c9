import type { PolicyRoute, Routes } from '../../kernel/route/routes.ts'
import { isDeepEqual } from '../../lib/equal.ts'
import { NodeProxyError } from '../../lib/error.ts'
import type { Family } from '../../lib/ip.ts'
import type { Digest, ForeignChange, KernelError, ObjectKey } from '../mode.ts'
import { routingBit } from './mark.ts'
import { ALTERED, nameOf, PRESENT, routeKey } from './object-key.ts'
import type { NetfilterSettings } from './settings/settings.ts'

/**
 * Tables of our own that contain only this route. Each mode has its own table, so that a mode which ends removes
 * nothing of the mode that follows.
 */
export const ROUTE_TABLES = { ipvs: 28_272, userspace: 28_273 } as const
/** The number of one of `ROUTE_TABLES`. */
export type RouteTable = (typeof ROUTE_TABLES)[keyof typeof ROUTE_TABLES]

/** Before the rules of network plugins; only packets that we marked ourselves are concerned. */
const PRIORITY = 7

/**
 * Delivers packets that are marked as going to a Service to this node, whatever their destination. One rule and one
 * route are enough for all Services: the addresses of Services do not become addresses of the node, so nothing else
 * answers there.
 */
export function policyRoute(
  settings: Pick<NetfilterSettings, 'masqueradeBit'>,
  family: Family,
  table: RouteTable,
): PolicyRoute {
  const bit = routingBit(settings)
  return { family, mark: bit, mask: bit, table, priority: PRIORITY }
}

type Refusals = ReadonlyMap<ObjectKey, KernelError>

/** The policy routes of a mode, by the keys `route/4` and `route/6`. */
export class PolicyRoutes {
  readonly #routes: Routes
  readonly #settings: NetfilterSettings
  readonly #table: RouteTable

  constructor(settings: NetfilterSettings, routes: Routes, table: RouteTable) {
    this.#settings = settings
    this.#routes = routes
    this.#table = table
  }

  /** Creates the routes of these keys; a route that exists already is left alone. */
  set(keys: readonly ObjectKey[]): Promise<Refusals> {
    return each(keys, (family) =>
      this.#routes.ensure(policyRoute(this.#settings, family, this.#table)),
    )
  }

  /** Removes routes that an earlier start made for another mark, in the families of these routes. */
  tidy(keys: readonly ObjectKey[]): Promise<Refusals> {
    return each(keys, (family) => this.#removeStrays(family))
  }

  /** Removes the routes of these keys, including those that an earlier start made for another mark. */
  unset(keys: readonly ObjectKey[]): Promise<Refusals> {
    return each(keys, (family) => this.#remove(family))
  }

  /** The routes in the mode's table; ALTERED if a route for another mark is among them. */
  async observe(): Promise<ReadonlyMap<ObjectKey, Digest>> {
    const seen = new Map<ObjectKey, Digest>()
    for (const family of [4, 6] as const) {
      const wanted = this.#wanted(family)
      if ((await this.#strays(family)).length > 0) seen.set(routeKey(family), ALTERED)
      else if (wanted && (await this.#routes.holds(wanted))) seen.set(routeKey(family), PRESENT)
    }
    return seen
  }

  /** Reports that another process removed a rule or route of ours; returns a function that stops this. */
  watch(onForeignChange: (change: ForeignChange) => void): () => void {
    const keys = this.#settings.families.map(routeKey)
    return this.#routes.watch(() => onForeignChange({ keys, by: 'another program' }))
  }

  /** Removes the routes of both families, of earlier starts too. */
  async removeAll(): Promise<void> {
    for (const family of [4, 6] as const) await this.#remove(family)
  }

  async #remove(family: Family): Promise<void> {
    await this.#removeStrays(family)
    await this.#routes.remove(policyRoute(this.#settings, family, this.#table))
  }

  async #removeStrays(family: Family): Promise<void> {
    for (const stray of await this.#strays(family)) await this.#routes.remove(stray)
  }

  /** Routes of ours whose mark is not used any more. */
  async #strays(family: Family): Promise<readonly PolicyRoute[]> {
    const wanted = this.#wanted(family)
    const ours = (await this.#routes.list()).filter(({ table }) => table === this.#table)
    return ours.filter((route) => route.family === family && !isDeepEqual(route, wanted))
  }

  #wanted(family: Family): PolicyRoute | undefined {
    const { families } = this.#settings
    return families.includes(family) ? policyRoute(this.#settings, family, this.#table) : undefined
  }
}

function each(
  keys: readonly ObjectKey[],
  work: (family: Family) => Promise<unknown>,
): Promise<Refusals> {
  return refusalsOf(keys, (key) => refusalOf(() => work(nameOf(key) === '6' ? 6 : 4)))
}

/** Works on one object after the other; returns what was refused. */
export async function refusalsOf(
  keys: readonly ObjectKey[],
  work: (key: ObjectKey) => Promise<KernelError | void>,
): Promise<Refusals> {
  const failed = new Map<ObjectKey, KernelError>()
  for (const key of keys) {
    const refusal = await work(key)
    if (refusal) failed.set(key, refusal)
  }
  return failed
}

async function refusalOf(work: () => Promise<unknown>): Promise<KernelError | undefined> {
  try {
    await work()
    return undefined
  } catch (error) {
    if (!(error instanceof NodeProxyError)) throw error
    return { code: error.code, message: error.message }
  }
}
