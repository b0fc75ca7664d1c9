import { hash } from 'node:crypto'

const IMPORT_MAP = /<script type="importmap">([^]*?)<\/script>/

/**
 * The Content-Security-Policy of a document: nothing from elsewhere, no script and no style inside of documents but the
 * import map that this one has, and no text that becomes HTML.
 */
export function securityPolicy(html: string): string {
  const map = IMPORT_MAP.exec(html)?.[1]
  const inline = map === undefined ? '' : ` 'sha256-${hash('sha256', map, 'base64')}'`
  return [
    "default-src 'none'",
    `script-src 'self'${inline}`,
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ')
}
