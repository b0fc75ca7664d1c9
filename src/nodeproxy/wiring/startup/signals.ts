/** The signals of the process. */
export interface Signals {
  /** Resolves with the first SIGTERM or SIGINT, also one that arrived before. */
  readonly stop: Promise<NodeJS.Signals>
  /** Sets what reads the configuration again at SIGHUP, which is ignored until then. */
  onHangup(reread: () => void): void
}

/**
 * Handles signals from now on, so that none during the start ends the daemon before it has
 * released what it opened. A second SIGTERM or SIGINT ends the process at once.
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
