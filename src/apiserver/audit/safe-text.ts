const CUT = '…[cut]'
const REDACTED = '[redacted]'
/** How much more than what is shown is searched for tokens, which a cut would hide. */
const SEARCHED = 4

/** Characters of tokens in a row; each row is examined once, so that no text takes long. */
const ROW = /[A-Za-z0-9_.-]{20,}/g
const SCHEME = /bearer|basic/i
const CREDENTIALS = /(Bearer|Basic)(?:\s|%20|\+)+[A-Za-z0-9\-._~+/%]{8,}=*/gi
const USER_INFO = /(https?:\/\/)[^\s/@"\\]+@/gi

/** A text of a client at most `max` characters long, without tokens and passwords in URLs. */
export function safeText(text: string, max: number): string {
  const scrubbed = scrub(text.length > SEARCHED * max ? text.slice(0, SEARCHED * max) : text)
  const isWhole = text.length <= SEARCHED * max && scrubbed.length <= max
  return isWhole ? scrubbed : `${scrubbed.slice(0, max - CUT.length)}${CUT}`
}

/** Most texts hold nothing that could be replaced, and to know that costs little. */
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
