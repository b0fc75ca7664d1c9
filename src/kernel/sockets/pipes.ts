import { SOCK, SPLICE } from './constants.ts'
import type { NativeMemory, Syscalls } from './syscalls.ts'

/** fcntl.h */
const F_SETPIPE_SZ = 1031
/** The bytes that a pipe can hold; more than the default of 64 KiB saves system calls. */
export const PIPE_BYTES = 1 << 20
const FLAGS = SOCK.nonBlocking | SOCK.closeOnExec
const MOVE = SPLICE.move | SPLICE.nonBlocking

/** A pipe that moves bytes from socket to socket without a copy. */
export interface Pipe {
  readonly readEnd: number
  readonly writeEnd: number
}

/**
 * Pipes for connections that move much data: each connection borrows one while the pipe holds bytes, and returns it
 * empty.
 */
export class PipePool {
  readonly #sys: Syscalls
  readonly #scratch: NativeMemory
  readonly #maxPipes: number
  readonly #free: Pipe[] = []
  #existing = 0

  /** At most `maxPipes` exist at a time: each takes two descriptors. */
  constructor(sys: Syscalls, maxPipes: number) {
    this.#sys = sys
    this.#maxPipes = maxPipes
    this.#scratch = sys.allocate(64)
  }

  /** An empty pipe; undefined if no more may or can be created: then bytes have to be copied. */
  borrow(): Pipe | undefined {
    return this.#free.pop() ?? this.#create()
  }

  /** Returns a pipe that is empty again. */
  giveBack(pipe: Pipe): void {
    this.#free.push(pipe)
  }

  /** Closes a pipe with bytes that will never be read, instead of `giveBack`. */
  discard({ readEnd, writeEnd }: Pipe): void {
    this.#sys.close(readEnd)
    this.#sys.close(writeEnd)
    this.#existing--
  }

  /**
   * Moves the bytes of a socket into the pipe; returns their number, 0 at the end of the stream, or -1
   * (`Syscalls.errno`).
   */
  fill({ writeEnd }: Pipe, source: number): number {
    return this.#sys.splice(source, null, writeEnd, null, PIPE_BYTES, MOVE)
  }

  /** Moves up to `length` bytes of the pipe into a socket; returns how many, or -1 (`Syscalls.errno`). */
  empty({ readEnd }: Pipe, sink: number, length: number): number {
    return this.#sys.splice(readEnd, null, sink, null, length, MOVE)
  }

  /** Closes the pipes that nothing has borrowed. */
  close(): void {
    for (const pipe of this.#free.splice(0)) this.discard(pipe)
  }

  #create(): Pipe | undefined {
    if (this.#existing >= this.#maxPipes) return undefined
    const { address, view } = this.#scratch
    if (this.#sys.pipe2(address, FLAGS) < 0) return undefined
    this.#existing++
    const pipe = { readEnd: view.getInt32(0, true), writeEnd: view.getInt32(4, true) }
    this.#sys.fcntl(pipe.writeEnd, F_SETPIPE_SZ, PIPE_BYTES)
    return pipe
  }
}
