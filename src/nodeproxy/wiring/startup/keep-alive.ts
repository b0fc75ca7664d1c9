/** The longest period of a timer of Node. */
const MAX_TIMER_MS = 2 ** 31 - 1

/**
 * Keeps the process alive while `work` runs. While another process has the daemon's ports and
 * the API server is unreachable, only unreferenced timers are pending, and Node would exit.
 */
export async function keepAlive<T>(work: () => Promise<T>): Promise<T> {
  const timer = setInterval(() => {}, MAX_TIMER_MS)
  try {
    return await work()
  } finally {
    clearInterval(timer)
  }
}
