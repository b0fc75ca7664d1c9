/** Milliseconds without a word after which the kernel asks whether the other end still lives. */
const KEEP_ALIVE_MS = 30_000

/** Of both ends of a TCP connection. */
export const SOCKET_OPTIONS = {
  allowHalfOpen: true,
  noDelay: true,
  keepAlive: true,
  keepAliveInitialDelay: KEEP_ALIVE_MS,
} as const
