import type { JsonObject } from '../../../src/lib/json.ts'
import type { Listed } from './history.ts'

/** A change, a bookmark, or `EXPIRED`: the server no longer has the changes that followed. */
export interface WatchLine {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'EXPIRED'
  readonly version: number
  readonly name: string
  readonly object: JsonObject
}

/** Everything that one watcher received after its first list, over all its connections. */
export interface WatchLog {
  readonly watcher: string
  readonly start: Listed
  readonly lines: readonly WatchLine[]
}

/** The changes alone. */
export function changesOf({ lines }: WatchLog): readonly WatchLine[] {
  return lines.filter(({ type }) => type !== 'BOOKMARK' && type !== 'EXPIRED')
}
