import type { Socket } from 'node:net'

/**
 * Closes a connection at once, with a reset for the other end. libuv refuses that, and leaves the
 * descriptor open, while it is sending a FIN (`uv_tcp_close_reset`), so that is awaited.
 */
export function resetSocket(socket: Socket): void {
  const { writableEnded, writableFinished, writableLength } = socket
  if (socket.destroyed) return
  if (socket.connecting) socket.destroy()
  else if (writableEnded && !writableFinished && writableLength === 0) {
    socket.once('finish', () => resetSocket(socket))
  } else socket.resetAndDestroy()
}
