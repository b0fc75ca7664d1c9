import type { NodeProxyError } from '../../../lib/error.ts'
import type { LoggedPacket, OpenPacketLog, PacketLogHandlers } from '../packet-log.ts'

/** A log to which the test sends packets. */
export class FakePacketLog {
  /** Thrown by each attempt to open it. */
  refusal: NodeProxyError | undefined
  #reader: PacketLogHandlers | undefined

  readonly open: OpenPacketLog = async (handlers) => {
    if (this.refusal) throw this.refusal
    this.#reader = handlers
    return () => {
      this.#reader = undefined
    }
  }

  get isOpen(): boolean {
    return this.#reader !== undefined
  }

  send(packet: LoggedPacket): void {
    this.#reader?.onPacket(packet)
  }

  lose(): void {
    this.#reader?.onLost()
  }
}
