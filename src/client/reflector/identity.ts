import { isRecord } from '../json.ts'

/** Which object this is and in which state; all the reflector itself reads of it. */
export interface Identity {
  /** `namespace/name`, or `name` without a namespace. */
  readonly key: string
  /** Empty when the server sent none. */
  readonly version: string
}

/** Longer than any name an API server accepts, with its namespace. */
const KEY_LIMIT = 600

/**
 * Identity of a raw object; undefined when it has no usable name. A slash is
 * refused: `b` in namespace `a` and a nameless namespace's `a/b` must not meet.
 */
export function readIdentity(raw: unknown): Identity | undefined {
  const metadata = isRecord(raw) ? raw['metadata'] : undefined
  if (!isRecord(metadata)) return undefined
  const { name, namespace, resourceVersion } = metadata
  if (typeof name !== 'string' || !isSegment(name)) return undefined
  if (namespace !== undefined && typeof namespace !== 'string') return undefined
  if (namespace && !isSegment(namespace)) return undefined
  const key = namespace ? `${namespace}/${name}` : name
  if (key.length > KEY_LIMIT) return undefined
  return { key, version: typeof resourceVersion === 'string' ? resourceVersion : '' }
}

function isSegment(text: string): boolean {
  return text !== '' && !text.includes('/')
}
