import type { StoreEvent } from '../store.ts'
import { type Event, Event_EventType, type WatchResponse } from './generated/etcd_pb.ts'
import type { KeySpace } from './key-space.ts'

/** Whole revisions, complete up to `revision`. */
export interface WholeRevisions {
  readonly refused?: never
  readonly events: readonly StoreEvent[]
  readonly revision: number
}

/**
 * Makes whole revisions of the responses of one watch. A response in fragments
 * may be cut inside a revision: the last revision of a fragment waits for the
 * next one, and nothing else does, so that a long backlog needs little memory.
 */
export class WatchAssembly {
  readonly #keys: KeySpace
  #complete: number
  #waiting: StoreEvent[] = []

  /** Changes at `after` and before are dropped. */
  constructor(keys: KeySpace, after: number) {
    this.#keys = keys
    this.#complete = after
  }

  /** What a response completes, or undefined. */
  accept(response: WatchResponse): WholeRevisions | undefined {
    const before = this.#complete
    if (response.events.length === 0) return this.#progress(response)
    const events = [...this.#waiting, ...response.events.map((event) => this.#event(event))]
    const last = events.at(-1)!.revision
    const whole = response.fragment ? events.filter(({ revision }) => revision < last) : events
    this.#waiting = events.slice(whole.length)
    this.#complete = Math.max(before, whole.at(-1)?.revision ?? 0)
    const fresh = whole.filter(({ revision }) => revision > before)
    return fresh.length > 0 ? { events: fresh, revision: this.#complete } : undefined
  }

  /** The header of a response with changes may be ahead of them; without changes it is the truth. */
  #progress({ header, created }: WatchResponse): WholeRevisions | undefined {
    const revision = Number(header?.revision ?? 0n)
    if (created || this.#waiting.length > 0 || revision <= this.#complete) return undefined
    this.#complete = revision
    return { events: [], revision }
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
