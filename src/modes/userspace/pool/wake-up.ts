import { SOCK } from '../../../kernel/sockets/constants.ts'
import type { NativeMemory, Syscalls } from '../../../kernel/sockets/syscalls.ts'

/** An event counter of the kernel (eventfd), by which a thread that waits in epoll is woken up. */
export class WakeUp {
  readonly descriptor: number
  readonly #sys: Syscalls
  readonly #one: NativeMemory

  constructor(sys: Syscalls) {
    this.#sys = sys
    this.#one = sys.allocate(8)
    this.#one.view.setUint32(0, 1, true)
    this.descriptor = sys.eventfd(0, SOCK.nonBlocking | SOCK.closeOnExec)
  }

  ring(): void {
    this.#sys.write(this.descriptor, this.#one.address, 8)
  }

  close(): void {
    this.#sys.close(this.descriptor)
  }
}
