import type { Socket } from 'node:net'
import { resetSocket } from './reset-socket.ts'

/**
 * Makes two TCP connections one: what either end sends, the other receives, at the
 * speed of the slower one. A FIN passes on by itself, so that
 * either direction may close before the other; a reset or any other loss becomes
 * a reset. Both sockets must allow half-open connections, and have a listener for errors.
 */
export function join(one: Socket, other: Socket): void {
  follow(one, other)
  follow(other, one)
  one.pipe(other)
  other.pipe(one)
}

function follow(socket: Socket, peer: Socket): void {
  socket.once('close', () => {
    if (!(socket.readableEnded && socket.writableFinished)) resetSocket(peer)
  })
}
