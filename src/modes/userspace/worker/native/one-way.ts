import { ERRNO } from '../../../../kernel/sockets/constants.ts'
import type { Pipe, PipePool } from '../../../../kernel/sockets/pipes.ts'
import type { Sockets } from '../../../../kernel/sockets/sockets.ts'
import type { NativeMemory } from '../../../../kernel/sockets/syscalls.ts'

/** What all connections of a thread share. */
export interface SharedIo {
  readonly sockets: Sockets
  readonly pipes: PipePool
  /** Bytes that are being moved from one socket to another, within one call. */
  readonly buffer: NativeMemory
}

/** Steps that one direction may take before others have their turn. */
const MAX_STEPS = 16

/**
 * `waiting` for a socket; `more` to do after others had their turn; `done` with everything including the end; or
 * `broken`: the connection has to be reset.
 */
export type Progress = 'waiting' | 'more' | 'done' | 'broken'

/**
 * One direction of a connection: from a source to a sink, at the speed of the slower one. Small amounts are read into
 * this process and written on at once. A source that fills the whole buffer has more bytes: they go through a pipe
 * (splice), without a copy, until no more are available.
 */
export class OneWay {
  /** Set by events, cleared when the kernel has nothing to read. */
  isReadable = false
  isWritable = false
  /** The source has ended, or sent urgent data: there is more to read after a short read. */
  readsOn = false
  /** Payload that the sink accepted. */
  bytes = 0
  readonly #io: SharedIo
  readonly #source: number
  readonly #sink: number
  #pipe: Pipe | undefined
  #piped = 0
  /** Bytes that were read but not accepted by the sink yet. */
  #held: Uint8Array | undefined
  #hasEnded = false
  #isDone = false

  constructor(io: SharedIo, source: number, sink: number) {
    this.#io = io
    this.#source = source
    this.#sink = sink
  }

  get isDone(): boolean {
    return this.#isDone
  }

  /** Whether bytes wait for the sink. */
  get isBlocked(): boolean {
    return this.#held !== undefined || this.#piped > 0
  }

  /** Inserts bytes before everything that the source sends. */
  prepend(bytes: Uint8Array): void {
    this.#held = bytes
  }

  pump(): Progress {
    if (this.#isDone) return 'done'
    for (let step = 0; step < MAX_STEPS; step++) {
      const progress = this.#step()
      if (progress !== undefined) return progress
    }
    return 'more'
  }

  /** Returns the borrowed pipe; nothing will be pumped any more. */
  release(): void {
    if (this.#pipe === undefined) return
    if (this.#piped > 0) this.#io.pipes.discard(this.#pipe)
    else this.#io.pipes.giveBack(this.#pipe)
    this.#pipe = undefined
  }

  /** Undefined if there may be more to do. */
  #step(): Progress | undefined {
    if (this.#held !== undefined) return this.#sendHeld(this.#held)
    if (this.#piped > 0) return this.#emptyPipe(this.#pipe)
    if (this.#hasEnded) return this.#end()
    if (!this.isReadable || !this.isWritable) return this.#rest()
    return this.#pipe === undefined ? this.#copy() : this.#fillPipe(this.#pipe)
  }

  #copy(): Progress | undefined {
    const { sockets, buffer } = this.#io
    const size = buffer.bytes.length
    const read = sockets.sys.recv(this.#source, buffer.address, size, 0)
    if (read <= 0) return this.#readNothing(read)
    if (read < size && !this.readsOn) this.isReadable = false
    const sent = sockets.send(this.#sink, buffer, read)
    if (sent < 0 && sockets.sys.errno() !== ERRNO.again) return 'broken'
    this.#sent(Math.max(sent, 0))
    if (sent < read) {
      this.#held = Uint8Array.from(buffer.bytes.subarray(Math.max(sent, 0), read))
      this.isWritable = false
    }
    if (read === size) this.#pipe = this.#io.pipes.borrow()
    return undefined
  }

  #fillPipe(pipe: Pipe): Progress | undefined {
    const moved = this.#io.pipes.fill(pipe, this.#source)
    if (moved <= 0) return this.#readNothing(moved)
    this.#piped = moved
    return undefined
  }

  #emptyPipe(pipe: Pipe | undefined): Progress | undefined {
    if (pipe === undefined || !this.isWritable) return 'waiting'
    const moved = this.#io.pipes.empty(pipe, this.#sink, this.#piped)
    if (moved < 0) return this.#couldNotWrite()
    this.#piped -= moved
    this.#sent(moved)
    return undefined
  }

  #sendHeld(held: Uint8Array): Progress | undefined {
    if (!this.isWritable) return 'waiting'
    const { sockets, buffer } = this.#io
    buffer.bytes.set(held)
    const sent = sockets.send(this.#sink, buffer, held.length)
    if (sent < 0) return this.#couldNotWrite()
    this.#sent(sent)
    this.#held = sent < held.length ? held.subarray(sent) : undefined
    return undefined
  }

  #readNothing(result: number): Progress | undefined {
    if (result === 0) {
      this.#hasEnded = true
      return undefined
    }
    if (this.#io.sockets.sys.errno() !== ERRNO.again) return 'broken'
    this.isReadable = false
    return undefined
  }

  #couldNotWrite(): Progress {
    if (this.#io.sockets.sys.errno() !== ERRNO.again) return 'broken'
    this.isWritable = false
    return 'waiting'
  }

  /** Called when there is nothing to do at the moment: another direction may need the pipe. */
  #rest(): Progress {
    this.release()
    return 'waiting'
  }

  /** Called at the end of the source; the caller of `pump` passes the end on. */
  #end(): Progress {
    this.release()
    this.#isDone = true
    return 'done'
  }

  #sent(bytes: number): void {
    this.bytes += bytes
  }
}
