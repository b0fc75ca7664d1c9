import type { Socket, SocketOptions } from 'node:dgram'
import { familyOf, type IpAddress } from '../../../../lib/ip.ts'

/** Bytes that may wait for space in the kernel's send buffer; later datagrams are lost. */
const MAX_WAITING = 1 << 20

/** Addresses are numeric already, so nothing has to be looked up. */
export const DATAGRAM_OPTIONS = {
  lookup: (host, _options, callback) => callback(null, host, familyOf(host as IpAddress)),
} as const satisfies Partial<SocketOptions>

/** The destination of one datagram of an unconnected socket. */
export interface DatagramTarget {
  readonly address: string
  readonly port: number
}

/** Sends to a target, or to the peer of a connected socket; errors are reported by `onError`. */
export function sendDatagram(
  socket: Socket,
  datagram: Uint8Array,
  target: DatagramTarget | undefined,
  onError: (error: NodeJS.ErrnoException) => void = () => undefined,
): void {
  if (socket.getSendQueueSize() > MAX_WAITING) return
  const onSent = (error: NodeJS.ErrnoException | null) => {
    if (error) onError(error)
  }
  if (target) socket.send(datagram, target.port, target.address, onSent)
  else socket.send(datagram, onSent)
}
