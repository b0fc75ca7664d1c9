import type { Digest, KernelError, ObjectKey } from '../mode.ts'
import type { Forwarder } from './forwarder.ts'
import { entryIdOf } from './object.ts'
import { digestRoute } from './render.ts'
import type { Route } from './route.ts'

/**
 * A forwarder and what was applied to it last, which cannot be read back from it. Both live as long
 * as this process: a mode that is made again, for other settings, gets the same one.
 */
export class ForwarderState {
  readonly forwarder: Forwarder
  readonly #digests = new Map<ObjectKey, Digest>()
  #hasBegun = false

  constructor(forwarder: Forwarder) {
    this.forwarder = forwarder
  }

  /** By `entry` key, of the routes that are served. */
  get digests(): ReadonlyMap<ObjectKey, Digest> {
    return this.#digests
  }

  /**
   * Applies routes; undefined takes one away. What is refused is not served any more. The first call
   * is passed on even without a route: the forwarder serves no client before it.
   */
  async apply(
    routes: ReadonlyMap<ObjectKey, Route | undefined>,
  ): Promise<ReadonlyMap<ObjectKey, KernelError>> {
    const failed = new Map<ObjectKey, KernelError>()
    if (routes.size === 0 && this.#hasBegun) return failed
    this.#hasBegun = true
    const changes = new Map([...routes].map(([key, route]) => [entryIdOf(key), route]))
    const refused = await this.forwarder.apply(changes)
    for (const [key, route] of routes) {
      const refusal = refused.get(entryIdOf(key))
      if (refusal) failed.set(key, refusal)
      if (route && !refusal) this.#digests.set(key, digestRoute(route))
      else this.#digests.delete(key)
    }
    return failed
  }
}
