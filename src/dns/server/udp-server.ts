import type { RemoteInfo, Socket } from 'node:dgram'
import { DatagramBatch } from '../../kernel/sockets/datagram-batch.ts'
import type { Syscalls } from '../../kernel/sockets/syscalls.ts'
import { BatchedDatagrams } from './batched-datagrams.ts'
import type { DatagramClient } from './datagram-client.ts'
import { DatagramService } from './datagram-service.ts'
import { openDatagramSocket } from './open-datagram-socket.ts'
import type { ListenAddress, ServerParts } from './server-parts.ts'

/** Answers questions in datagrams. */
export class UdpServer {
  readonly #socket: Socket

  private constructor(socket: Socket) {
    this.#socket = socket
  }

  /** Where `sys` is undefined, it reads one datagram at a time. Rejects as `openDatagramSocket` does. */
  static async open(
    parts: ServerParts,
    address: ListenAddress,
    sys: Syscalls | undefined,
  ): Promise<UdpServer> {
    const { socket, native } = await openDatagramSocket(address, sys)
    const service = new DatagramService(parts)
    const batched =
      native && new BatchedDatagrams(new DatagramBatch(native.sys), native.descriptor, service)
    // Node reads one datagram at a time; those that wait behind it cost a tenth together.
    socket.on('message', (message, from) => {
      service.receive(message, new RemoteClient(socket, from))
      batched?.serve()
    })
    return new UdpServer(socket)
  }

  get port(): number {
    return this.#socket.address().port
  }

  async close(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#socket.close(resolve)
    })
  }
}

class RemoteClient implements DatagramClient {
  readonly #socket: Socket
  readonly #from: RemoteInfo

  constructor(socket: Socket, from: RemoteInfo) {
    this.#socket = socket
    this.#from = from
  }

  get address(): string {
    return this.#from.address
  }

  send(response: Buffer): void {
    this.#socket.send(response, 0, response.length, this.#from.port, this.#from.address)
  }

  kept(): DatagramClient {
    return this
  }
}
