import type { Socket } from 'node:net'

/** Between two questions of the kernel whether the other side is still there. */
const KEEP_ALIVE_MS = 30_000

/** Has the kernel find out that the other side of a silent connection is gone. */
export function keepAlive(socket: Pick<Socket, 'setKeepAlive'>): void {
  socket.setKeepAlive(true, KEEP_ALIVE_MS)
}
