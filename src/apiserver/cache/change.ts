import type { Item } from './item.ts'

/** One change of one object, with the serialized watch events that were made of it so far. */
export interface Change {
  readonly revision: number
  /** Undefined: created. */
  readonly before: Item | undefined
  /** Undefined: deleted. */
  readonly after: Item | undefined
  /** Serialized events by representation and type; each is made once for all watchers. */
  readonly frames: Map<string, Buffer>
}

/** The type of a watch event. */
export type EventType = 'ADDED' | 'MODIFIED' | 'DELETED'

/** The type of the event for a watcher that sees the matching items; undefined: no event. */
export function eventTypeFor(
  change: Change,
  matches: (item: Item) => boolean,
): EventType | undefined {
  const before = change.before !== undefined && matches(change.before)
  const after = change.after !== undefined && matches(change.after)
  if (after) return before ? 'MODIFIED' : 'ADDED'
  return before ? 'DELETED' : undefined
}

/** The item that an event shows: the last matching state when it is a deletion. */
export function shownItem(change: Change, type: EventType): Item {
  return type === 'DELETED' ? change.before! : change.after!
}
