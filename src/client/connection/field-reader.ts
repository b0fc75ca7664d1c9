import { NodeProxyError } from '../../lib/error.ts'
import type { JsonRecord } from '../json.ts'
import { isRecord } from '../json.ts'

/**
 * Reads the fields of one part of a kubeconfig. Values of wrong type are
 * refused by name, and never shown: any of them may be a secret.
 */
export interface FieldReader {
  text(field: string): string | undefined
  flag(field: string): boolean
  part(field: string): FieldReader | undefined
  parts(field: string): readonly FieldReader[]
  texts(field: string): readonly string[]
  has(field: string): boolean
  /** The error for one field of this part. */
  refuse(field: string, why: string, hint?: string): NodeProxyError
}

/** `place` is where `value` stands, for messages: `users[0].user`. */
export function createFieldReader(value: unknown, place: string, file: string): FieldReader {
  const fields: JsonRecord = isRecord(value) ? value : {}

  function refuse(field: string, why: string, hint?: string): NodeProxyError {
    const path = [place, field].filter((part) => part !== '').join('.')
    const details = { object: file, ...(hint === undefined ? {} : { hint }) }
    return new NodeProxyError('NP_CLIENT_KUBECONFIG', `${path} ${why}`, details)
  }

  function list(field: string): readonly unknown[] {
    const found = fields[field] ?? []
    if (!Array.isArray(found)) throw refuse(field, 'must be a list')
    return found
  }

  function open(field: string, found: unknown, at: string): FieldReader {
    if (!isRecord(found)) throw refuse(field, 'must be a mapping')
    return createFieldReader(found, [place, at].filter((part) => part !== '').join('.'), file)
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
