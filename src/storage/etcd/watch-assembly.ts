import type { StoreEvent } from '../store.ts'
import { type Event, Event_EventType, type WatchResponse } from './generated/etcd_pb.ts'
import type { KeySpace } from './key-space.ts'

/** All changes of some revisions, complete up to `revision`. */
export interface WholeRevisions {
  readonly refused?: never
  readonly events: readonly StoreEvent[]
  readonly revision: number
}

/**
 * Assembles whole revisions from the responses of one watch. etcd may split a revision between
 * fragments of a response, so the last revision of a fragment waits for the next fragment. All earlier
 * ones are delivered at once, so a long backlog needs little memory.
 */
export class WatchAssembly {
  readonly #keys: KeySpace
  readonly #prefix: string
  #complete: number
  #waiting: StoreEvent[] = []

  /** Drops changes up to `after`; changes of other keys only advance the revision. */
  constructor(keys: KeySpace, query: { readonly prefix: string; readonly after: number }) {
    this.#keys = keys
    this.#prefix = query.prefix || '/'
    this.#complete = query.after
  }

  /** All changes up to this revision were delivered. */
  get revision(): number {
    return this.#complete
  }

  /** The revisions that a response completes; undefined: none. */
  accept(response: WatchResponse): WholeRevisions | undefined {
    const before = this.#complete
    const events = [...this.#waiting, ...response.events.map((event) => this.#event(event))]
    const last = events.at(-1)?.revision ?? before
    const whole = response.fragment ? events.filter(({ revision }) => revision < last) : events
    this.#waiting = events.slice(whole.length)
    this.#complete = Math.max(before, whole.at(-1)?.revision ?? 0)
    if (this.#complete === before) return undefined
    const fresh = whole.filter(
      ({ key, revision }) => revision > before && key.startsWith(this.#prefix),
    )
    return { events: fresh, revision: this.#complete }
  }

  #event({ type, kv }: Event): StoreEvent {
    const entry = this.#keys.entry(kv!)
    const { key, modRevision } = entry
    return {
      key,
      revision: modRevision,
      entry: type === Event_EventType.DELETE ? undefined : entry,
    }
  }
}
