import { badRequest, type StatusError } from '../status/status.ts'

/** The target of a request line, split at the question mark. */
export interface RequestTarget {
  /** The path as it was sent; decoding it yields no slash, dot segment or control character. */
  readonly path: string
  /** The query as it was sent, without the question mark. */
  readonly search: string
  readonly query: URLSearchParams
}

/** Control characters, space, backslash and semicolon. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it finds
const AMBIGUOUS = /[\0-\x20\x7f\\;]/

/**
 * Splits and checks a request target. A path is 400 when two parsers could
 * read it differently: empty and dot segments, encoded slashes, backslashes,
 * semicolons, spaces, control characters, fragments, absolute-form URIs. One slash at the end is allowed.
 */
export function parseRequestTarget(target: string): RequestTarget | StatusError {
  const queryStart = target.indexOf('?')
  const path = queryStart < 0 ? target : target.slice(0, queryStart)
  if (target.includes('#')) return malformed('it holds a fragment, which clients must not send')
  if (!path.startsWith('/')) return malformed('it must start with a slash')
  const decoded = decodePath(path)
  if (decoded === undefined) return malformed('its percent-encoding is broken')
  if (AMBIGUOUS.test(decoded)) return malformed('it holds a character that paths must not hold')
  const segments = decoded.split('/').slice(1)
  if (segments.length !== path.split('/').length - 1) return malformed('it holds an encoded slash')
  if (segments.at(-1) === '') segments.pop()
  if (segments.some((segment) => ['', '.', '..'].includes(segment)))
    return malformed('it holds an empty or dot segment')
  const search = queryStart < 0 ? '' : target.slice(queryStart + 1)
  return { path, search, query: new URLSearchParams(search) }
}

function decodePath(path: string): string | undefined {
  try {
    return decodeURIComponent(path)
  } catch {
    return undefined
  }
}

function malformed(why: string): StatusError {
  return badRequest(`the request path is malformed: ${why}`)
}
