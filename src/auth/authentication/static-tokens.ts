import { createHash } from 'node:crypto'
import { parse } from 'csv-parse/sync'
import { NodeProxyError } from '../../lib/error.ts'
import { AUTHENTICATED, type User } from '../user.ts'
import type { Authenticator } from './authenticator.ts'

/**
 * Reads static tokens in the format of kube-apiserver's `--token-auth-file`: lines of token, user name, uid,
 * and groups, which are one quoted field with commas.
 * @param source the file, for errors
 * @throws NP_AUTH_TOKEN_FILE with the number of the line, never its content
 */
export function staticTokens(text: string, source: string): Authenticator {
  const users = new Map<string, User>()
  for (const [index, fields] of rowsOf(text, source).entries()) {
    const [token = '', name = '', uid = '', groups = ''] = fields
    const fault = faultOf(fields, users.has(hashOf(token)))
    if (fault !== undefined) throw refusal(source, `record ${index + 1} ${fault}`)
    const named = groups.split(',').map((group) => group.trim())
    const all = new Set([...named.filter((group) => group !== ''), AUTHENTICATED])
    users.set(hashOf(token), { name, groups: [...all], ...(uid !== '' && { uid }) })
  }
  return {
    authenticate: ({ bearerToken }) => {
      const user = bearerToken === undefined ? undefined : users.get(hashOf(bearerToken))
      return Promise.resolve(user && { user })
    },
  }
}

/** The mandatory fields of a record: token, user, uid. */
const MIN_FIELDS = 3
const MAX_FIELDS = 4

function faultOf(fields: readonly string[], isKnown: boolean): string | undefined {
  const [token = '', name = ''] = fields
  if (fields.length < MIN_FIELDS) return 'has fewer than three fields'
  if (fields.length > MAX_FIELDS) return 'has more than four fields: groups must be quoted'
  if (token === '') return 'has an empty token'
  if (/\s/u.test(token)) return 'has a token with a space in it'
  if (name === '') return 'has an empty user name'
  return isKnown ? 'has the token of an earlier record' : undefined
}

function rowsOf(text: string, source: string): readonly (readonly string[])[] {
  try {
    const lenient = { bom: true, relax_column_count: true, skip_empty_lines: true, trim: true }
    return parse(text, { ...lenient, comment: '#', comment_no_infix: true })
  } catch (error) {
    const { lines = 0, code = 'unknown' } = error as { lines?: number; code?: string }
    throw refusal(source, `line ${lines} is not a record of comma-separated values (${code})`)
  }
}

/** Tokens are compared by their hashes, so that the time of a lookup reveals nothing about a token. */
function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('base64')
}

function refusal(source: string, what: string): NodeProxyError {
  return new NodeProxyError('NP_AUTH_TOKEN_FILE', `${source}: ${what}`, {
    object: source,
    hint: 'write lines of token,user,uid,"group1,group2"; uid and groups may be empty',
  })
}
