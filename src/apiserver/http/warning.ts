import type { ServerResponse } from 'node:http'

/** Bytes of all warnings of one answer, as in kube-apiserver: clients limit the size of headers. */
const MAX_BYTES = 4096

const UNPRINTABLE = /[^\x20-\x7e]/gu

/**
 * Adds a `Warning` header with code 299, which kubectl and client-go show to their users. A text that the
 * answer already has, and one beyond 4096 bytes, is left out. Characters other than printable ASCII become `?`.
 */
export function addWarning(response: ServerResponse, text: string): void {
  const safe = text.replaceAll(UNPRINTABLE, '?').replaceAll(/["\\]/g, '\\$&')
  const warning = `299 - "${safe}"`
  const present = [response.getHeader('Warning') ?? []].flat().map(String)
  if (present.includes(warning)) return
  if ([...present, warning].join('').length > MAX_BYTES) return
  response.setHeader('Warning', [...present, warning])
}
