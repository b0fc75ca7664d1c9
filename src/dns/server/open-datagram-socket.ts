import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { isIPv6 } from 'node:net'
import { Sockets } from '../../kernel/sockets/sockets.ts'
import type { Syscalls } from '../../kernel/sockets/syscalls.ts'
import type { ListenAddress } from './server-parts.ts'

/** A burst of questions waits in the kernel while the process is busy. */
const RECEIVE_BUFFER = 4 * 1_024 * 1_024

/** A socket of Node, which says when datagrams wait. */
export interface DatagramSocket {
  readonly socket: Socket
  /** The same socket for system calls; absent where Node cannot make any. */
  readonly native?: { readonly sys: Syscalls; readonly descriptor: number }
}

/** Opens a socket for datagrams. Rejects with the system's error, or NP_KERNEL_SOCKET, when the address cannot be used. */
export async function openDatagramSocket(
  { ip, port }: ListenAddress,
  sys: Syscalls | undefined,
): Promise<DatagramSocket> {
  const socket = createSocket({
    type: isIPv6(ip) ? 'udp6' : 'udp4',
    ipv6Only: isIPv6(ip),
    // Answers go to addresses: without this, each would wait for a lookup.
    lookup: (host, _options, callback) => callback(null, host, isIPv6(host) ? 6 : 4),
  })
  const listening = once(socket, 'listening')
  const native = sys && { sys, descriptor: new Sockets(sys).bindDatagrams(ip, port) }
  if (native === undefined) socket.bind({ address: ip, port, exclusive: true })
  else socket.bind({ fd: native.descriptor })
  await listening
  socket.setRecvBufferSize(RECEIVE_BUFFER)
  // An error of one datagram, such as a client that is gone, concerns no other one.
  socket.on('error', () => undefined)
  return native === undefined ? { socket } : { socket, native }
}
