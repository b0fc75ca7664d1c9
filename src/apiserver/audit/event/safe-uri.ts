import { safeText } from './safe-text.ts'

const MAX_URI = 2048
const REDACTED = '[redacted]'

/** Each part matches no character that begins another parameter: no text takes long. */
const PARAMETER = /([?&;#])([^=&;#?]*)=([^&;#?]*)/g
const SECRET_NAME =
  /token|secret|passw|pwd|auth(?!or(?!i[sz]))|credential|signature|api-?key|private|cookie|session|jwt|bearer|^(?:key|sig|code)$/i

/** The request target as it was sent, without the values of parameters that may be secret. */
export function safeUri(uri: string): string {
  const start = uri.slice(0, 4 * MAX_URI)
  const shown = start.replace(PARAMETER, (whole: string, mark: string, name: string) =>
    SECRET_NAME.test(decode(name)) ? `${mark}${name}=${REDACTED}` : whole,
  )
  const rest = uri.length > start.length ? '…' : ''
  return safeText(`${shown}${rest}`, MAX_URI)
}

function decode(name: string): string {
  try {
    return decodeURIComponent(name.replaceAll('+', ' '))
  } catch {
    return name
  }
}
