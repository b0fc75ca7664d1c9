import type { ServerResponse } from 'node:http'

/** Warnings of one answer may take this many bytes: clients bound the size of headers. */
const MAX_BYTES = 4096

const UNPRINTABLE = /[^\x20-\x7e]/gu

/** Adds a warning that clients show to their users; the same one only once. */
export function addWarning(response: ServerResponse, text: string): void {
  const safe = text.replaceAll(UNPRINTABLE, '?').replaceAll(/["\\]/g, '\\$&')
  const warning = `299 - "${safe}"`
  const present = [response.getHeader('Warning') ?? []].flat().map(String)
  if (present.includes(warning)) return
  if ([...present, warning].join('').length > MAX_BYTES) return
  response.setHeader('Warning', [...present, warning])
}
