import type { Digest, KernelError, ObjectKey } from '../mode.ts'
import type { Forwarder } from './forwarder.ts'
import { digestRoute, entryIdOf } from './render.ts'
import type { Route } from './route.ts'

/** The digest of a route with a listener that could not be opened: the forwarder serves its other listeners. */
export const SERVED_IN_PART = 0 as Digest

/**
 * A forwarder and the digests of the routes that it serves, because a forwarder cannot be read back.
 * Both live as long as this process: a mode that is built again, for other settings, gets the same one.
 */
export class ForwarderState {
  readonly forwarder: Forwarder
  readonly #digests = new Map<ObjectKey, Digest>()
  #hasBegun = false

  constructor(forwarder: Forwarder) {
    this.forwarder = forwarder
  }

  /** The digests of the routes that the forwarder has, by `entry` key. */
  get digests(): ReadonlyMap<ObjectKey, Digest> {
    return this.#digests
  }

  /**
   * Passes routes to the forwarder; undefined removes one. Returns the routes that it refused, which it serves at their
   * other listeners. The first call reaches the forwarder even without a route, because clients wait for it.
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
      if (route) this.#digests.set(key, refusal ? SERVED_IN_PART : digestRoute(route))
      else this.#digests.delete(key)
    }
    return failed
  }
}
