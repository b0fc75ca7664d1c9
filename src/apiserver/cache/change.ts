import type { Item } from './item.ts'

/** One change of one object, with the bytes of its watch events as they are made. */
export interface Change {
  readonly revision: number
  /** Undefined: created. */
  readonly before: Item | undefined
  /** Undefined: deleted. */
  readonly after: Item | undefined
  /** Serialised events by representation and type: made once, for every watcher. */
  readonly frames: Map<string, Buffer>
}

/** The type of a watch event. */
export type EventType = 'ADDED' | 'MODIFIED' | 'DELETED'

/** The event that a watcher of the matching items gets; undefined: none. */
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
