const REDACTED = '[redacted]'

/** Private keys, tokens, and passwords, in whatever text they are. */
const SECRETS: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g, REDACTED],
  [/\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*/g, REDACTED],
  [/\b(Bearer|Basic)\s+[\w.~+/=-]{8,}/gi, `$1 ${REDACTED}`],
  [/:\/\/[^\s/:@"]*:[^\s/@"]+@/g, `://${REDACTED}@`],
  [/("?(?:password|token|secret|client-key-data)"?\s*[:=]\s*)"?[^\s",}]+"?/gi, `$1"${REDACTED}"`],
]

/** The text without private keys, tokens and passwords. */
export function redact(text: string): string {
  return SECRETS.reduce((left, [pattern, replacement]) => left.replace(pattern, replacement), text)
}
