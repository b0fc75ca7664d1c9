import { isRecord, parseJson } from '../json.ts'
import type { Identity } from './identity.ts'
import { readIdentity } from './identity.ts'

/** One line of a watch. `raw` is the object as the server sent it, not validated. */
export type WatchEvent =
  | {
      readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
      /** Undefined when the object has no usable name. */
      readonly identity: Identity | undefined
      readonly raw: unknown
    }
  | {
      readonly type: 'BOOKMARK'
      readonly version: string
      /** Whether it ends the initial events of a streaming list. */
      readonly initialEnd: boolean
    }
  | { readonly type: 'ERROR'; readonly status: unknown }

const INITIAL_END = 'k8s.io/initial-events-end'

/** Reads a watch line; undefined when it is no watch event. */
export function readWatchEvent(line: string): WatchEvent | undefined {
  const event = parseJson(line)
  if (!isRecord(event)) return undefined
  const { type, object } = event
  if (type === 'ERROR') return { type, status: object }
  if (type === 'BOOKMARK') return readBookmark(object)
  if (type !== 'ADDED' && type !== 'MODIFIED' && type !== 'DELETED') return undefined
  return { type, identity: readIdentity(object), raw: object }
}

function readBookmark(object: unknown): WatchEvent | undefined {
  const metadata = isRecord(object) ? object['metadata'] : undefined
  if (!isRecord(metadata) || typeof metadata['resourceVersion'] !== 'string') return undefined
  const annotations = metadata['annotations']
  const initialEnd = isRecord(annotations) && annotations[INITIAL_END] === 'true'
  return { type: 'BOOKMARK', version: metadata['resourceVersion'], initialEnd }
}
