/** The longest period of a timer. */
const LONGEST_MS = 2 ** 31 - 1

/**
 * Keeps the process alive while `work` goes on. While another process holds the daemon's ports and
 * the API server is away, only timers are pending, and those keep no process alive.
 */
export async function keepAlive<T>(work: () => Promise<T>): Promise<T> {
  const timer = setInterval(() => {}, LONGEST_MS)
  try {
    return await work()
  } finally {
    clearInterval(timer)
  }
}
