import { readFileSync } from 'node:fs'

/** What `package.json` says this checkout is. */
export function packageVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return String((JSON.parse(text) as { version?: unknown }).version)
}
