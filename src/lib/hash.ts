import { hash } from 'node:crypto'

/**
 * A name derived from `text`: `length` characters of base64url SHA-256, 6 bits each. With 19 characters (114 bits)
 * a deliberate collision takes some 2⁵⁷ hashes.
 */
export function hashName(text: string, length: number): string {
  return hash('sha256', text, 'base64url').slice(0, length)
}

/** 52 bits of SHA-256 as a number: cheap to keep and to compare. */
export function contentHash(text: string): number {
  return Number.parseInt(hash('sha256', text, 'hex').slice(0, 13), 16)
}
