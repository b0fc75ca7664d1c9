import type { StatusError } from '../status/status.ts'
import { badRequest } from '../status/status-errors.ts'

export interface RequestTarget {
  /** The path as it was sent; decoding it yields no slash, dot segment or control character. */
  readonly path: string
  readonly query: URLSearchParams
}

/**
 * Splits and checks a request target. A path is refused when two parsers could
 * read it differently: empty and dot segments, encoded slashes, backslashes,
 * semicolons, control characters, fragments, absolute-form URIs.
 */
export function parseRequestTarget(target: string): RequestTarget | StatusError {
  const mark = target.indexOf('?')
  const path = mark < 0 ? target : target.slice(0, mark)
  if (target.includes('#')) return malformed('it holds a fragment, which is the affair of clients')
  if (!path.startsWith('/')) return malformed('it must start with a slash')
  const decoded = decodePath(path)
  if (decoded === undefined) return malformed('its percent-encoding is broken')
  if (hasControlOrAmbiguity(decoded))
    return malformed('it holds a character that paths must not hold')
  if (decoded.split('/').length !== path.split('/').length)
    return malformed('it holds an encoded slash')
  const segments = decoded.split('/').slice(1)
  const trailing = segments.length > 1 && segments.at(-1) === '' ? segments.slice(0, -1) : segments
  const clean = path === '/' || trailing.every((one) => one !== '' && one !== '.' && one !== '..')
  if (!clean) return malformed('it holds an empty or dot segment')
  return { path, query: new URLSearchParams(mark < 0 ? '' : target.slice(mark + 1)) }
}

function decodePath(path: string): string | undefined {
  try {
    return decodeURIComponent(path)
  } catch {
    return undefined
  }
}

function hasControlOrAmbiguity(text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code < 0x21 || code === 0x7f || code === 0x5c || code === 0x3b) return true
  }
  return false
}

function malformed(why: string): StatusError {
  return badRequest(`the request path is malformed: ${why}`)
}
