import type { Clock } from '../../lib/clock.ts'
import { follow } from '../../lib/regularly.ts'
import type { Logger } from '../../telemetry/logger.ts'

/** The current content of files that may change while a server runs. */
export interface Followed<T> {
  readonly current: () => T
  /** Calls `listener` with each new content after it came into use. */
  onChange(listener: (next: T) => void): void
  stop(): void
}

export interface FollowedFilesOptions<R, T> {
  readonly read: () => Promise<R>
  /** Parses the content; throws if it is unusable. */
  readonly parse: (content: R) => T
  /** What the files hold, for the log: `the keys of service accounts`. */
  readonly what: string
  readonly clock: Pick<Clock, 'after'>
  readonly log: Pick<Logger, 'info' | 'error'>
}

/**
 * Reads files now and every ten seconds. If they cannot be read or used, that is logged, and the last good
 * content stays in use.
 * @throws what `read` and `parse` throw the first time
 */
export async function followFiles<R, T>({
  read,
  parse,
  what,
  clock,
  log,
}: FollowedFilesOptions<R, T>): Promise<Followed<T>> {
  const first = await read()
  let current = parse(first)
  const listeners: ((next: T) => void)[] = []
  const stop = follow({
    clock,
    first,
    read,
    onChange: (next) => {
      current = parse(next)
      for (const listener of listeners) listener(current)
      log.info({ what }, 'changed files were taken over')
    },
    onError: (err) =>
      log.error({ err, what }, 'changed files cannot be used; the content before stays in use'),
  })
  return {
    current: () => current,
    onChange: (listener) => void listeners.push(listener),
    stop,
  }
}
