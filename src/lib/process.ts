import { readFileSync } from 'node:fs'

/** The version in `package.json`. */
export function packageVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return String((JSON.parse(text) as { version?: unknown }).version)
}

/**
 * The number of files that this process may open, see getrlimit(2), RLIMIT_NOFILE; `otherwise` if it cannot be read.
 */
export function openFilesLimit(otherwise: number, file = '/proc/self/limits'): number {
  try {
    const soft = /^Max open files\s+(\d+|unlimited)/m.exec(readFileSync(file, 'utf8'))?.[1]
    return soft === 'unlimited' ? Number.POSITIVE_INFINITY : Number(soft ?? otherwise)
  } catch {
    return otherwise
  }
}
