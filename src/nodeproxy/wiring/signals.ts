/** Resolves with the signal that asks to stop; SIGHUP reads the configuration again. */
export function untilSignal(onHangup: () => void): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    process.on('SIGHUP', onHangup)
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.once(signal, () => {
        process.off('SIGHUP', onHangup)
        resolve(signal)
      })
    }
  })
}
