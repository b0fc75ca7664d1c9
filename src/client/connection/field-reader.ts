import { NodeProxyError } from '../../lib/error.ts'
import { isJsonObject, type JsonObject } from '../../lib/json.ts'

/**
 * Reads the fields of one mapping of a kubeconfig. All methods throw NP_CLIENT_KUBECONFIG for a value of the wrong
 * type. The error names the field but not the value, which may be a secret.
 */
export interface FieldReader {
  /** A string; undefined if absent or empty. */
  text(field: string): string | undefined
  /** A boolean; false if absent. */
  flag(field: string): boolean
  /** A mapping; undefined if absent. */
  part(field: string): FieldReader | undefined
  /** A list of mappings; empty if absent. */
  parts(field: string): readonly FieldReader[]
  /** A list of strings; empty if absent. */
  texts(field: string): readonly string[]
  /** Whether the field has a value other than null. */
  has(field: string): boolean
  /** NP_CLIENT_KUBECONFIG for a field of this mapping. */
  refuse(field: string, why: string, hint?: string): NodeProxyError
}

/** `location` is the path of `value` in the file, for messages: `users[0].user`. */
export function createFieldReader(value: unknown, location: string, file: string): FieldReader {
  const fields: JsonObject = isJsonObject(value) ? value : {}

  function refuse(field: string, why: string, hint?: string): NodeProxyError {
    const path = [location, field].filter((part) => part !== '').join('.')
    const details = { object: file, ...(hint === undefined ? {} : { hint }) }
    return new NodeProxyError('NP_CLIENT_KUBECONFIG', `${path} ${why}`, details)
  }

  function list(field: string): readonly unknown[] {
    const found = fields[field] ?? []
    if (!Array.isArray(found)) throw refuse(field, 'must be a list')
    return found
  }

  function open(field: string, found: unknown, at: string): FieldReader {
    if (!isJsonObject(found)) throw refuse(field, 'must be a mapping')
    return createFieldReader(found, [location, at].filter((part) => part !== '').join('.'), file)
  }

  return {
    refuse,
    has: (field) => fields[field] !== undefined && fields[field] !== null,
    text(field) {
      const found = fields[field] ?? ''
      if (typeof found !== 'string') throw refuse(field, 'must be a string')
      return found === '' ? undefined : found
    },
    flag(field) {
      const found = fields[field] ?? false
      if (typeof found !== 'boolean') throw refuse(field, 'must be true or false')
      return found
    },
    part(field) {
      const found = fields[field] ?? undefined
      return found === undefined ? undefined : open(field, found, field)
    },
    parts: (field) => list(field).map((found, i) => open(field, found, `${field}[${i}]`)),
    texts: (field) =>
      list(field).map((found, index) => {
        if (typeof found === 'string') return found
        throw refuse(`${field}[${index}]`, 'must be a string')
      }),
  }
}
