const SECRET_NAMES =
  '(?:authorization|proxy-authorization|cookie|set-cookie|[A-Za-z_-]*(?:token|password|passphrase|secret|private-?key|client-?key|key-?data))'
const SECRET_KEY = new RegExp(`^${SECRET_NAMES}$`, 'i')
const SECRET_PAIR = new RegExp(`"(${SECRET_NAMES})":"(?:[^"\\\\]|\\\\.)*"`, 'gi')
const REDACTED = '[redacted]'
const MAX_DEPTH = 6

const BEARER = /\b(Bearer|Basic)\s+[A-Za-z0-9\-._~+/]{8,}=*/gi
const JSON_WEB_TOKEN = /\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*/g
const USER_INFO = /\b(https?:\/\/)[^\s/@"\\]+@/gi

/** A copy of `fields` in which values of secret-looking keys are replaced. Errors stay as they are. */
export function redactFields(fields: Record<string, unknown>, depth = 0): Record<string, unknown> {
  const copy: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(fields)) {
    copy[key] = SECRET_KEY.test(key) && hides(value) ? REDACTED : redactValue(value, depth + 1)
  }
  return copy
}

/**
 * One line of JSON log without bearer tokens, JSON web tokens, passwords in URLs
 * and texts under secret-looking keys (fields of child loggers come only here).
 */
export function scrubText(text: string): string {
  return text
    .replace(SECRET_PAIR, `"$1":"${REDACTED}"`)
    .replace(BEARER, `$1 ${REDACTED}`)
    .replace(JSON_WEB_TOKEN, REDACTED)
    .replace(USER_INFO, `$1${REDACTED}@`)
}

/** A flag or a count (`hasToken: true`, `tokens: 3`) is no secret. */
function hides(value: unknown): boolean {
  return typeof value !== 'boolean' && typeof value !== 'number' && value !== undefined
}

function redactValue(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null || value instanceof Error) return value
  if (depth > MAX_DEPTH) return '[deeper]'
  if (Array.isArray(value)) return value.map((item) => redactValue(item, depth + 1))
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return value
  return redactFields(value as Record<string, unknown>, depth)
}
