const CUT = '…[cut]'
const REDACTED = '[redacted]'
/**
 * Text of this many times the shown length is searched for tokens, because a token that is cut off would not be
 * recognized.
 */
const SEARCHED = 4

/** A run of characters that tokens consist of. Each run is examined once, so the time is linear. */
const ROW = /[A-Za-z0-9_.-]{20,}/g
const SCHEME = /bearer|basic/i
const CREDENTIALS = /(Bearer|Basic)(?:\s|%20|\+)+[A-Za-z0-9\-._~+/%]{8,}=*/gi
const USER_INFO = /(https?:\/\/)[^\s/@"\\]+@/gi

/** The first `max` characters of a client's text, without tokens and without passwords in URLs. */
export function safeText(text: string, max: number): string {
  const scrubbed = scrub(text.length > SEARCHED * max ? text.slice(0, SEARCHED * max) : text)
  const isWhole = text.length <= SEARCHED * max && scrubbed.length <= max
  return isWhole ? scrubbed : `${scrubbed.slice(0, max - CUT.length)}${CUT}`
}

/** Replaces secrets. Most texts have none, which is found out cheaply. */
function scrub(text: string): string {
  const withoutPasswords = text.includes('://') ? text.replace(USER_INFO, `$1${REDACTED}@`) : text
  const withoutJwt = text.includes('eyJ')
    ? withoutPasswords.replace(ROW, withoutTokens)
    : withoutPasswords
  return SCHEME.test(text) ? withoutJwt.replace(CREDENTIALS, `$1 ${REDACTED}`) : withoutJwt
}

/** JSON web tokens: three parts between dots, the first a JSON object in base64 (`eyJ`). */
function withoutTokens(row: string): string {
  const parts = row.split('.')
  const shown: string[] = []
  for (let index = 0; index < parts.length; index++) {
    const part = parts[index]!
    const start = part.indexOf('eyJ')
    const isToken = start >= 0 && part.length - start > 10 && index + 2 < parts.length
    shown.push(isToken ? part.slice(0, start) + REDACTED : part)
    if (isToken) index += 2
  }
  return shown.join('.')
}
