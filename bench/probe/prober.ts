import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises'
import {
  AF_INET,
  checked,
  libc,
  SOCK_CLOEXEC,
  SOCK_NONBLOCK,
  SOCK_RAW,
  socketAddress,
} from '../lab/libc.ts'
import { inside } from '../lab/namespace.ts'
import { serviceAddress } from '../lab/plan.ts'
import type { Topology } from '../lab/topology.ts'
import { SynPackets } from './syn-packet.ts'

const RAW = SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC
const IPPROTO_TCP = 6
const IPPROTO_RAW = 255
const SO_RCVBUF = 8
const RECEIVE_BYTES = 4 << 20

/** A condition: a new connection to this Service reaches one of these endpoints. */
export interface Target {
  readonly service: number
  readonly endpoints: ReadonlySet<number>
}

export interface WaitOptions {
  readonly timeoutMs: number
  /** First packets per target and round. */
  readonly packets: number
  /** Milliseconds between rounds; 0.5 unless given. */
  readonly intervalMs?: number
}

/** The number of rounds and packets that the prober has sent, and the time that took. */
export interface ProbeCost {
  readonly rounds: number
  readonly packets: number
  readonly busyMs: number
}

/**
 * Observes the data path from outside: sends first packets of new connections from the client's namespace to Services,
 * and reads in the backends' namespace to which endpoint each was forwarded. One thread sends and reads, without any
 * other process, so the precision of a moment is the interval of the rounds.
 */
export class Prober {
  readonly #sender: number
  readonly #receiver: number
  readonly #packets = new SynPackets()
  readonly #received = Buffer.alloc(256)
  #cost = { rounds: 0, packets: 0, busyMs: 0 }

  constructor({ client, backends }: Topology) {
    this.#sender = inside(client, () => checked(libc.socket(AF_INET, RAW, IPPROTO_RAW), 'socket'))
    this.#receiver = inside(backends, () =>
      checked(libc.socket(AF_INET, RAW, IPPROTO_TCP), 'socket'),
    )
    const size = Buffer.alloc(4)
    size.writeUInt32LE(RECEIVE_BYTES)
    libc.setsockopt(this.#receiver, 1, SO_RCVBUF, size, 4)
  }

  get cost(): ProbeCost {
    return { ...this.#cost }
  }

  /** `performance.now()` of the moment when the last target was met; undefined after the timeout. */
  async met(targets: readonly Target[], options: WaitOptions): Promise<number | undefined> {
    const deadline = performance.now() + options.timeoutMs
    let waiting = [...targets]
    let last = 0
    while (performance.now() < deadline) {
      const seen = this.#round(waiting, options.packets)
      const left = waiting.filter(({ endpoints }) => !endpoints.values().some((ip) => seen.has(ip)))
      if (left.length < waiting.length) last = performance.now()
      if (left.length === 0) return last
      waiting = left
      await pause(options.intervalMs)
    }
    return undefined
  }

  close(): void {
    libc.close(this.#sender)
    libc.close(this.#receiver)
  }

  /** The endpoints that `packets` new connections to each target reached. */
  #round(targets: readonly Target[], packets: number): ReadonlySet<number> {
    const startedAt = performance.now()
    const seen = new Set<number>()
    for (const { service } of targets) {
      const address = socketAddress(serviceAddress(service), 0)
      for (let n = 0; n < packets; n++) {
        this.#packets.next(serviceAddress(service))
        libc.sendto(this.#sender, this.#packets.buffer, 40n, 0, address, address.length)
      }
      this.#drain(seen)
    }
    this.#cost.rounds++
    this.#cost.packets += packets * targets.length
    this.#cost.busyMs += performance.now() - startedAt
    return seen
  }

  #drain(seen: Set<number>): void {
    const packet = this.#received
    while (libc.recv(this.#receiver, packet, BigInt(packet.length), 0) >= 20n) {
      seen.add(packet.readUInt32BE(16))
    }
  }
}

/** Timers of Node are too coarse for less than 2 ms, so this blocks, and then lets the event loop run. */
async function pause(ms: number | undefined): Promise<void> {
  if (ms !== undefined) return delay(ms)
  Atomics.wait(NEVER, 0, 0, 0.5)
  await turn()
}

const NEVER = new Int32Array(new SharedArrayBuffer(4))
