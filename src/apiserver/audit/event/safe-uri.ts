import { safeText } from './safe-text.ts'

const MAX_URI = 2048
const REDACTED = '[redacted]'

/** A name holds no character that begins another parameter, so that no text takes long. */
const PARAMETER = /([?&;#])([^=&;#?]*)=([^&#]*)/g
const SECRET_NAME =
  /token|secret|passw|pwd|auth(?!or(?!i[sz]))|credential|signature|api-?key|private|cookie|session|jwt|bearer|^(?:key|sig|code)$/i

/** The request target as it was sent, without the values of parameters that may be secret. */
export function safeUri(uri: string): string {
  const start = uri.slice(0, 4 * MAX_URI)
  const shown = start.replace(PARAMETER, (whole: string, ...parts: readonly string[]) => {
    const [mark = '', name = '', value = ''] = parts
    return isSecret(name, value) ? `${mark}${name}=${REDACTED}` : whole
  })
  const rest = uri.length > start.length ? '…' : ''
  return safeText(`${shown}${rest}`, MAX_URI)
}

/** Some programs take a semicolon for the end of a parameter, others for a part of its value. */
function isSecret(name: string, value: string): boolean {
  const names = value.split(';').flatMap((part) => (part.includes('=') ? part.split('=', 1) : []))
  return [name, ...names].some((one) => SECRET_NAME.test(decode(one)))
}

function decode(name: string): string {
  try {
    return decodeURIComponent(name.replaceAll('+', ' '))
  } catch {
    return name
  }
}
