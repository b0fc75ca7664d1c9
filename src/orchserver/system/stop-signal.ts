/**
 * Resolves with the first signal that asks to stop, also one that comes while
 * the server starts; SIGHUP comes when a terminal closes. A second one ends the process at once.
 */
export function stopSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.once(signal, resolve)
  })
}
