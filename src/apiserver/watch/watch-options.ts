import {
  parseCount,
  parseFlag,
  parseRevision,
  parseSelection,
  type Selection,
} from '../request/list-options.ts'
import type { ServedVersion } from '../resource/resource.ts'
import { StatusError } from '../status/status.ts'
import { invalidOptions } from '../status/status-errors.ts'

export interface WatchOptions {
  readonly selection: Selection
  /** Undefined: the newest. 0: any. */
  readonly revision: number | undefined
  /**
   * True: send the present objects as ADDED and a bookmark that ends them; false: do not.
   * Undefined: send them without the bookmark when no revision is given.
   */
  readonly initialEvents: boolean | undefined
  readonly bookmarks: boolean
  /** Undefined: the server decides. */
  readonly timeoutSeconds: number | undefined
}

export function parseWatchOptions(
  served: ServedVersion,
  query: URLSearchParams,
): WatchOptions | StatusError {
  const selection = parseSelection(served, query)
  if (selection instanceof StatusError) return selection
  const revision = parseRevision(query)
  if (revision instanceof StatusError) return revision
  const timeoutSeconds = parseCount(query, 'timeoutSeconds')
  if (timeoutSeconds instanceof StatusError) return timeoutSeconds
  const match = query.get('resourceVersionMatch') ?? ''
  const hasInitial = query.has('sendInitialEvents')
  if (hasInitial && match !== 'NotOlderThan') {
    return invalidOptions(
      'resourceVersionMatch',
      'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan',
    )
  }
  if (!hasInitial && match !== '') {
    return invalidOptions(
      'resourceVersionMatch',
      'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided',
    )
  }
  return {
    selection,
    revision,
    initialEvents: hasInitial ? parseFlag(query, 'sendInitialEvents') : undefined,
    bookmarks: parseFlag(query, 'allowWatchBookmarks'),
    timeoutSeconds: timeoutSeconds === 0 ? undefined : timeoutSeconds,
  }
}
