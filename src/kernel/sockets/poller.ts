import { EPOLL, SOCK } from './constants.ts'
import type { NativeMemory, Syscalls } from './syscalls.ts'

/** sys/epoll.h: EPOLL_CTL_ADD, EPOLL_CTL_DEL. */
const ADD = 1
const DELETE = 2
/** The maximum number of events that one call of `wait` returns. */
const MAX_EVENTS = 512
/** `struct epoll_event` has no padding on x86-64, and four bytes of padding elsewhere. */
const EVENT_BYTES = process.arch === 'x64' ? 12 : 16
const DATA_AT = EVENT_BYTES - 8
/** The offset of the event that `epoll_ctl` reads: after those that `epoll_wait` writes. */
const CONTROL_AT = MAX_EVENTS * EVENT_BYTES

/** Called for each descriptor that is ready, with bits of `EPOLL`. */
export type OnReady = (descriptor: number, events: number) => void

/** Waits for many descriptors at once (epoll). The kernel removes a descriptor that is closed. */
export class Poller {
  readonly #sys: Syscalls
  readonly #memory: NativeMemory
  readonly #descriptor: number

  constructor(sys: Syscalls) {
    this.#sys = sys
    this.#memory = sys.allocate(CONTROL_AT + EVENT_BYTES)
    this.#descriptor = sys.epoll_create1(SOCK.closeOnExec)
    if (this.#descriptor < 0) throw new Error(`epoll_create1: errno ${sys.errno()}`)
  }

  /** Edge-triggered: reported once when it becomes readable or writable, or at a hang-up. Returns false on failure. */
  addEdge(descriptor: number): boolean {
    return this.#add(descriptor, EPOLL.in | EPOLL.out | EPOLL.urgent | EPOLL.rdhup | EPOLL.edge)
  }

  /** Level-triggered: reported by each `wait` while there is something to read. Returns false on failure. */
  addReadable(descriptor: number): boolean {
    return this.#add(descriptor, EPOLL.in)
  }

  /** Like `addReadable`, for a descriptor that several pollers wait for: not all of them wake up (EPOLLEXCLUSIVE). */
  addShared(descriptor: number): boolean {
    return this.#add(descriptor, EPOLL.in | EPOLL.exclusive)
  }

  /** Stops waiting for a descriptor that stays open. */
  remove(descriptor: number): void {
    this.#sys.epoll_ctl(this.#descriptor, DELETE, descriptor, this.#memory.address)
  }

  /** Waits at most `timeoutMs` (-1: without a limit); returns how many were ready, or -1 (`Syscalls.errno`). */
  wait(timeoutMs: number, onReady: OnReady): number {
    const { address, view } = this.#memory
    const count = this.#sys.epoll_wait(this.#descriptor, address, MAX_EVENTS, timeoutMs)
    for (let index = 0; index < count; index++) {
      const at = index * EVENT_BYTES
      onReady(view.getInt32(at + DATA_AT, true), view.getUint32(at, true))
    }
    return count
  }

  close(): void {
    this.#sys.close(this.#descriptor)
  }

  #add(descriptor: number, events: number): boolean {
    const { address, view } = this.#memory
    view.setUint32(CONTROL_AT, events >>> 0, true)
    view.setInt32(CONTROL_AT + DATA_AT, descriptor, true)
    const event = address + BigInt(CONTROL_AT)
    return this.#sys.epoll_ctl(this.#descriptor, ADD, descriptor, event) === 0
  }
}
