/** How the process inside learns that it is to end. */
export interface Stop {
  readonly signal: AbortSignal
  /** The supervisor is gone, so this process has to clean up. */
  orphaned(): boolean
}

/**
 * Aborted by SIGINT, SIGTERM or SIGHUP, when the output is closed,
 * and when the supervisor is gone. Further signals change nothing: the end is on
 * its way.
 */
export function stopOnSignal(): Stop {
  const stop = new AbortController()
  const abort = (): void => stop.abort()
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, abort)
  process.on('disconnect', abort)
  process.channel?.unref()
  for (const stream of [process.stdout, process.stderr]) stream.on('error', abort)
  return { signal: stop.signal, orphaned: () => !process.connected }
}
