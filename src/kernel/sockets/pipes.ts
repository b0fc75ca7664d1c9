import { SOCK, SPLICE } from './constants.ts'
import type { NativeMemory, Syscalls } from './syscalls.ts'

/** fcntl.h */
const F_SETPIPE_SZ = 1031
/** What a pipe takes at once; more than the default of 64 KiB saves system calls. */
export const PIPE_BYTES = 1 << 20
const FLAGS = SOCK.nonBlocking | SOCK.closeOnExec
const MOVE = SPLICE.move | SPLICE.nonBlocking

/** A pipe through which bytes go from socket to socket without a copy. */
export interface Pipe {
  readonly readEnd: number
  readonly writeEnd: number
}

/** Pipes for those who have much to move; they are lent and come back empty. */
export class PipePool {
  readonly #sys: Syscalls
  readonly #scratch: NativeMemory
  readonly #most: number
  readonly #free: Pipe[] = []
  #made = 0

  /** `most` pipes exist at a time: they take two descriptors each. */
  constructor(sys: Syscalls, most: number) {
    this.#sys = sys
    this.#most = most
    this.#scratch = sys.allocate(64)
  }

  /** Undefined: there are no more, bytes have to be copied. */
  borrow(): Pipe | undefined {
    return this.#free.pop() ?? this.#make()
  }

  giveBack(pipe: Pipe): void {
    this.#free.push(pipe)
  }

  /** For a pipe that still holds bytes that will never be read. */
  discard({ readEnd, writeEnd }: Pipe): void {
    this.#sys.close(readEnd)
    this.#sys.close(writeEnd)
    this.#made--
  }

  /** From a socket; 0: it has ended, -1: see `errno`. */
  fill({ writeEnd }: Pipe, source: number): number {
    return this.#sys.splice(source, null, writeEnd, null, PIPE_BYTES, MOVE)
  }

  /** Into a socket; -1: see `errno`. */
  empty({ readEnd }: Pipe, sink: number, length: number): number {
    return this.#sys.splice(readEnd, null, sink, null, length, MOVE)
  }

  close(): void {
    for (const pipe of this.#free.splice(0)) this.discard(pipe)
  }

  #make(): Pipe | undefined {
    if (this.#made >= this.#most) return undefined
    const { address, view } = this.#scratch
    if (this.#sys.pipe2(address, FLAGS) < 0) return undefined
    this.#made++
    const pipe = { readEnd: view.getInt32(0, true), writeEnd: view.getInt32(4, true) }
    this.#sys.fcntl(pipe.writeEnd, F_SETPIPE_SZ, PIPE_BYTES)
    return pipe
  }
}
