import { ERRNO } from '../../../src/kernel/sockets/constants.ts'
import { Poller } from '../../../src/kernel/sockets/poller.ts'
import type { SocketAddress } from '../../../src/kernel/sockets/socket-address.ts'
import type { Sockets } from '../../../src/kernel/sockets/sockets.ts'
import { cpuSeconds } from '../../daemon/process-tree.ts'
import { STREAM } from '../wire.ts'
import { hold } from './hold.ts'
import type { LoadOrder, Streamed } from './order.ts'

/** linux/socket.h: for a TCP socket, discards the received bytes without copying them (tcp(7)). */
const MSG_TRUNC = 0x20
const AT_ONCE = 1 << 22
/** Milliseconds until TCP windows have opened. */
const SETTLE_MS = 300
const MAX_WAIT_MS = 20
const GIGA = 1e9

/** Receives what backends send on several connections, as fast as it arrives. */
export function stream(
  sockets: Sockets,
  target: SocketAddress,
  { connections, ms, pids }: LoadOrder,
): Streamed {
  const held = hold(sockets, target, connections).sockets
  const sink = new Sink(sockets, held)
  try {
    if (held.length < connections)
      throw new Error(`only ${held.length} of ${connections} connected`)
    sink.take(SETTLE_MS)
    const used = () => pids.reduce((sum, pid) => sum + cpuSeconds(pid), 0)
    const before = used()
    const { bytes, seconds } = sink.take(ms)
    const cpu = used() - before
    return {
      gigabytesPerSecond: bytes / GIGA / seconds,
      cpuSecondsPerGigabyte: cpu / (bytes / GIGA),
    }
  } finally {
    sink.close()
  }
}

/** Requests streams and discards them. */
class Sink {
  readonly #sockets: Sockets
  readonly #streams: readonly number[]
  readonly #poller: Poller
  readonly #memory

  constructor(sockets: Sockets, streams: readonly number[]) {
    this.#sockets = sockets
    this.#streams = streams
    this.#poller = new Poller(sockets.sys)
    this.#memory = sockets.sys.allocate(64)
    this.#memory.bytes[0] = STREAM
    for (const socket of streams) {
      sockets.send(socket, this.#memory, 1)
      this.#poller.addReadable(socket)
    }
  }

  take(ms: number): { readonly bytes: number; readonly seconds: number } {
    let bytes = 0
    const startedAt = performance.now()
    const onReady = (socket: number) => {
      bytes += this.#discard(socket)
    }
    while (performance.now() < startedAt + ms) this.#poller.wait(MAX_WAIT_MS, onReady)
    return { bytes, seconds: (performance.now() - startedAt) / 1_000 }
  }

  close(): void {
    for (const socket of this.#streams) {
      this.#sockets.resetOnClose(socket)
      this.#sockets.sys.close(socket)
    }
    this.#poller.close()
  }

  #discard(socket: number): number {
    const { sys } = this.#sockets
    const count = sys.recv(socket, this.#memory.address, AT_ONCE, MSG_TRUNC)
    if (count > 0) return count
    if (count < 0 && sys.errno() === ERRNO.again) return 0
    throw new Error('a stream broke off')
  }
}
