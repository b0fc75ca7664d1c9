import { encodeMessage, NLMSG_ERROR, type OutgoingMessage } from '../message.ts'
import type { OpenTransport, Transport, TransportHandlers } from '../transport.ts'

/** A socket for which the test plays the kernel: it sees what was sent and decides what comes back. */
export class FakeTransport {
  readonly sent: Buffer[] = []
  readonly groups = new Set<number>()
  readonly port = 4711
  closed = false
  /** Called after each send; use `receive` in it to answer. */
  onSend: (bytes: Buffer) => void = () => undefined
  #handlers: TransportHandlers | undefined

  readonly open: OpenTransport = (handlers) => {
    this.#handlers = handlers
    return this.#transport()
  }

  receive(bytes: Buffer): void {
    this.#handlers?.onDatagram(bytes)
  }

  overrun(): void {
    this.#handlers?.onOverrun()
  }

  #transport(): Transport {
    return {
      port: this.port,
      send: async (bytes) => {
        this.sent.push(bytes)
        this.onSend(bytes)
      },
      join: (group) => this.groups.add(group),
      leave: (group) => this.groups.delete(group),
      hold: () => undefined,
      close: () => {
        this.closed = true
      },
    }
  }
}

/** A message as the kernel sends it, on behalf of the socket at `port`. */
export function incoming(message: OutgoingMessage, seq: number, port = 0): Buffer {
  const bytes = encodeMessage(message, seq)
  bytes.writeUInt32LE(port, 12)
  return bytes
}

/** NLMSG_ERROR: an acknowledgement (errno 0) or a refusal. */
export function errorMessage(seq: number, errno: number): Buffer {
  const payload = Buffer.alloc(20)
  payload.writeInt32LE(-errno, 0)
  return incoming({ type: NLMSG_ERROR, flags: 0, payload }, seq)
}
