import { createHash } from 'node:crypto'

/** A line of a key file whose key follows from its name. */
export function keyLine(name: string, seed = name): string {
  return `${name}:${createHash('sha256').update(seed).digest('base64')}`
}
