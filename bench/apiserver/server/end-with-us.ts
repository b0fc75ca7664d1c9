/** Kills a process when this one exits, as after a signal; until it is disposed. */
export function endWithUs(pid: () => number | undefined): Disposable {
  const kill = (): void => {
    const running = pid()
    if (running !== undefined) process.kill(running, 'SIGKILL')
  }
  process.once('exit', kill)
  return { [Symbol.dispose]: () => process.off('exit', kill) }
}
