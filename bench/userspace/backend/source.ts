import { dlopen } from 'node:ffi'
import { closeSync, ftruncateSync, openSync } from 'node:fs'
import { join } from 'node:path'
import type { NativeMemory, Syscalls } from '../../../src/kernel/sockets/syscalls.ts'

const FILE_BYTES = 1 << 20

/** Sizes are 32-bit for the same reason as in `Syscalls`. */
const { functions: libc } = dlopen('libc.so.6', {
  sendfile: { arguments: ['i32', 'i32', 'pointer', 'u32'], return: 'i32' },
})

/** Bytes that are sent from the page cache without a copy, so that sending costs little. */
export class Source {
  readonly #file: number
  readonly #offset: NativeMemory

  constructor(sys: Syscalls, folder: string) {
    const path = join(folder, 'source')
    closeSync(openSync(path, 'w'))
    this.#file = openSync(path, 'r+')
    ftruncateSync(this.#file, FILE_BYTES)
    this.#offset = sys.allocate(8)
  }

  /** The number of bytes that the socket accepted; -1: see `errno`. */
  sendTo(socket: number): number {
    this.#offset.bytes.fill(0)
    return libc.sendfile(socket, this.#file, this.#offset.address, FILE_BYTES)
  }
}
