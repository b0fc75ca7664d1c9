import type { JsonObject } from '../../../src/lib/json.ts'
import type { Listed } from './history.ts'

/** A change, a bookmark, or (`EXPIRED`) that the server no longer has what came next. */
export interface WatchLine {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'EXPIRED'
  readonly version: number
  readonly name: string
  readonly object: JsonObject
}

/** All that one watcher heard after its first list, across all its connections. */
export interface WatchLog {
  readonly watcher: string
  readonly start: Listed
  readonly lines: readonly WatchLine[]
}

/** The changes alone. */
export function changesOf({ lines }: WatchLog): readonly WatchLine[] {
  return lines.filter(({ type }) => type !== 'BOOKMARK' && type !== 'EXPIRED')
}
