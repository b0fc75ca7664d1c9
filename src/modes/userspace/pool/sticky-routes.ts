import type { EntryId } from '../../../forwarding/entry.ts'
import { contentHash } from '../../../lib/hash.ts'
import type { Route } from '../route.ts'

/** Which routes have affinity. */
export class StickyRoutes {
  readonly #ids = new Set<EntryId>()

  /** Takes changes over; returns the groups whose clients are not to be remembered any more. */
  apply(changes: ReadonlyMap<EntryId, Route | undefined>): ReadonlySet<number> {
    const lost = new Set<number>()
    for (const [id, route] of changes) {
      if (route?.affinity) this.#ids.add(id)
      else if (this.#ids.delete(id)) lost.add(contentHash(id))
    }
    return lost
  }
}
