import { NodeProxyError } from '../../../lib/error.ts'
import { quote } from '../../../lib/quote.ts'
import type { Finding } from './inspect.ts'

/** How many findings one message names. */
const MAX_NAMED = 3

/** NP_STORAGE_CORRUPT for a file; `what` begins the message, such as `the backup`. */
export function damagedError(
  what: string,
  object: string,
  { findings, hint }: { readonly findings: readonly Finding[]; readonly hint: string },
): NodeProxyError {
  const named = findings.slice(0, MAX_NAMED).map(describeFinding)
  const more = findings.length - named.length
  const others = more > 0 ? `; and ${more} more` : ''
  const message = `${what} ${quote(object)} is damaged: ${named.join('; ')}${others}`
  return new NodeProxyError('NP_STORAGE_CORRUPT', message, { object, hint })
}

/** One line for operators. */
export function describeFinding({ key, cause }: Finding): string {
  return key === '' ? cause : `${quote(key)}: ${cause}`
}
