/** Milliseconds of silence after which the kernel sends a TCP keepalive probe. */
const KEEP_ALIVE_MS = 30_000

/** Of both ends of a TCP connection. */
export const SOCKET_OPTIONS = {
  allowHalfOpen: true,
  noDelay: true,
  keepAlive: true,
  keepAliveInitialDelay: KEEP_ALIVE_MS,
} as const
