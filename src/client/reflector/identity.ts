import { isJsonObject } from '../../lib/json.ts'

/** Name and version of an object, the only parts that the reflector itself reads. */
export interface Identity {
  /** `namespace/name`, or `name` without a namespace. */
  readonly key: string
  /** The resourceVersion; empty if the server sent none. */
  readonly version: string
}

/** Longer than any name that an API server accepts, including its namespace. */
const KEY_LIMIT = 600

/**
 * The identity of a raw object; undefined if it has no usable name. A name with a slash is not usable: `a/b` without a
 * namespace would have the same key as `b` in the namespace `a`.
 */
export function readIdentity(raw: unknown): Identity | undefined {
  const metadata = isJsonObject(raw) ? raw['metadata'] : undefined
  if (!isJsonObject(metadata)) return undefined
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
