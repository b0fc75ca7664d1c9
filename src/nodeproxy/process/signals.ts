const STOPPING = ['SIGTERM', 'SIGINT'] as const

/** The signals of the process. */
export interface Signals {
  /** Resolves with the first SIGTERM or SIGINT, even if it arrived earlier. */
  readonly stop: Promise<NodeJS.Signals>
  /**
   * Sets the function that is called at each SIGHUP, to read the configuration again. SIGHUP is ignored before that.
   */
  onHangup(reread: () => void): void
}

/**
 * Handles signals from now on, so that a signal during the start does not end the daemon before it has released what it
 * opened. After the first SIGTERM or SIGINT, another one of either kind, or SIGHUP, ends the process at once.
 */
export function listenForSignals(): Signals {
  let reread = () => {}
  const hangup = () => reread()
  process.on('SIGHUP', hangup)
  const { promise: stop, resolve } = Promise.withResolvers<NodeJS.Signals>()
  const end = (signal: NodeJS.Signals) => {
    process.off('SIGHUP', hangup)
    for (const one of STOPPING) process.off(one, end)
    resolve(signal)
  }
  for (const signal of STOPPING) process.on(signal, end)
  return {
    stop,
    onHangup(next) {
      reread = next
    },
  }
}
