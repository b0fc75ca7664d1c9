export interface Signals {
  /** Resolves with the first signal that asks to stop, also one that came before. */
  readonly stop: Promise<NodeJS.Signals>
  /** Who reads the configuration again at SIGHUP; until then SIGHUP does nothing. */
  onHangup(reread: () => void): void
}

/**
 * Listens from now on, so that no signal during the start ends the daemon half
 * way. A second SIGTERM or SIGINT ends it at once.
 */
export function listenForSignals(): Signals {
  let reread = () => {}
  const hangup = () => reread()
  process.on('SIGHUP', hangup)
  const stop = new Promise<NodeJS.Signals>((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.once(signal, () => {
        process.off('SIGHUP', hangup)
        resolve(signal)
      })
    }
  })
  return {
    stop,
    onHangup(next) {
      reread = next
    },
  }
}
