import type { Sockets } from '../../../../kernel/sockets/sockets.ts'
import type { EventLoop } from './event-loop.ts'

const POLL_INTERVAL_MS = 10
/** The time in which the other end must accept the remaining bytes before the reset. */
const TIMEOUT_MS = 1_000

/** The thread's loop and sockets. */
export interface ResetParts {
  readonly loop: EventLoop
  readonly sockets: Sockets
}

/**
 * Resets a connection after the bytes that it was given have been sent: a reset throws away what
 * still waits for its first transmission, and a server may well answer and then reset.
 */
export function resetWhenSent(socket: number, parts: ResetParts): void {
  const { loop, sockets } = parts
  const deadline = loop.now + TIMEOUT_MS
  loop.silence(socket)
  const look = () => {
    if (loop.now < deadline && sockets.unsent(socket) > 0) loop.after(POLL_INTERVAL_MS, look)
    else {
      sockets.resetOnClose(socket)
      loop.close(socket)
    }
  }
  look()
}
