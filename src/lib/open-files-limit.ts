import { readFileSync } from 'node:fs'

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
