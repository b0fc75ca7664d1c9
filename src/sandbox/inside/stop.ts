/**
 * Aborted by SIGINT, SIGTERM or SIGHUP, and when the supervisor is gone. Further
 * signals change nothing: the end is on its way.
 */
export function whenAskedToStop(): AbortSignal {
  const stop = new AbortController()
  const ask = (): void => stop.abort()
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, ask)
  process.on('disconnect', ask)
  process.channel?.unref()
  return stop.signal
}
