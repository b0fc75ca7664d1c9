import { readFileSync } from 'node:fs'

/** What every system gives, where this one does not say. */
const USUAL = 1_024

/** How many files this process may open, see getrlimit(2), RLIMIT_NOFILE. */
export function openFilesLimit(file = '/proc/self/limits'): number {
  try {
    const soft = /^Max open files\s+(\d+|unlimited)/m.exec(readFileSync(file, 'utf8'))?.[1]
    return soft === 'unlimited' ? Number.POSITIVE_INFINITY : Number(soft ?? USUAL)
  } catch {
    return USUAL
  }
}
