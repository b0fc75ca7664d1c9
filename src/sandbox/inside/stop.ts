/** How the process inside learns that it is to end. */
export interface Stop {
  readonly signal: AbortSignal
  /** The supervisor is gone, so nobody else cleans up. */
  orphaned(): boolean
}

/**
 * Aborted by SIGINT, SIGTERM or SIGHUP, when nobody reads the output any more,
 * and when the supervisor is gone. Further signals change nothing: the end is on
 * its way.
 */
export function whenAskedToStop(): Stop {
  const stop = new AbortController()
  const ask = (): void => stop.abort()
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, ask)
  process.on('disconnect', ask)
  process.channel?.unref()
  for (const stream of [process.stdout, process.stderr]) stream.on('error', ask)
  return { signal: stop.signal, orphaned: () => !process.connected }
}
