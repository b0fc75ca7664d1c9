import { type SocketAddress, socketAddress } from '../../../../kernel/sockets/socket-address.ts'
import { parseIp } from '../../../../lib/ip.ts'
import type { AdmissionParts } from '../admission.ts'
import type { BufferPool } from './read-buffer.ts'

/** An address at which this worker listens. */
export interface OpenListener {
  /**
   * Listens no more. TCP connections go on, and clients that the kernel has accepted
   * are served; UDP flows end, because they answer from the listener's socket.
   */
  close(): Promise<void>
}

/** What all listeners of a worker share. */
export interface ListenerParts extends AdmissionParts {
  readonly buffers: BufferPool
  /** Milliseconds that one backend may take to accept. */
  readonly connectMs: number
}

/** The address of a peer, from Node's text such as `fe80::1%eth0`; undefined: it is gone already. */
export function peerAddress(text = '', port = 0): SocketAddress | undefined {
  const zone = text.indexOf('%')
  const ip = parseIp(zone < 0 ? text : text.slice(0, zone))
  return ip && socketAddress(ip, port)
}
