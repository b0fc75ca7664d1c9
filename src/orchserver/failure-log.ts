import type { Clock } from '../lib/clock.ts'
import { NodeProxyError } from '../lib/error.ts'
import type { Logger } from '../telemetry/logger.ts'

export interface FailureLogOptions {
  readonly clock: Pick<Clock, 'after'>
  readonly log: Pick<Logger, 'error'>
}

const PERIOD_MS = 60_000

/**
 * Tells failures while serving. Of those that are alike only the first of each
 * minute is told, and at its end how many followed: a full disk fails every
 * write, and a record for each would take the space that is being freed.
 */
export function createFailureLog({ clock, log }: FailureLogOptions): (error: unknown) => void {
  const repeats = new Map<string, number>()
  return (err) => {
    const kind = kindOf(err)
    const before = repeats.get(kind)
    repeats.set(kind, before === undefined ? 0 : before + 1)
    if (before !== undefined) return
    log.error({ err }, meaningOf(kind))
    clock.after(PERIOD_MS, () => {
      const times = repeats.get(kind)
      repeats.delete(kind)
      if (times) log.error({ failure: kind, times }, 'the same failure was repeated')
    })
  }
}

function kindOf(error: unknown): string {
  return error instanceof NodeProxyError ? error.code : String(error)
}

function meaningOf(kind: string): string {
  if (kind === 'NP_APISERVER_STORED_OBJECT')
    return 'a stored object cannot be read and is not served'
  return kind.startsWith('NP_STORAGE_')
    ? 'the store did not do what the API server asked of it'
    : 'the API server failed at something that it should not fail at'
}
