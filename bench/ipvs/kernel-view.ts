import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises'
import { IPVS_FAMILY } from '../../src/kernel/ipvs/codec/family.ts'
import { decodeGetServers, encodeGetServers } from '../../src/kernel/ipvs/codec/get-servers.ts'
import { encodeGetService } from '../../src/kernel/ipvs/codec/get-service.ts'
import { ENDPOINTS_PER_SERVICE } from '../cluster/objects.ts'
import { BlockingNetlink } from '../lab/blocking-netlink.ts'
import { toText } from '../lab/plan.ts'
import { virtualServer } from './objects.ts'

/** What is waited for: this virtual server has so many real servers with a weight, these among them. */
export interface Expected {
  readonly service: number
  readonly endpoints?: readonly number[]
}

/** How often the kernel was asked, and the time that took. */
export interface ViewCost {
  readonly looks: number
  readonly busyMs: number
}

const PAUSE_MS = 0.2
/** Looks between two turns of the event loop: others write to this process meanwhile. */
const LOOKS_PER_TURN = 32

/** The virtual servers of a node, read over netlink by a thread that does nothing else. */
export class KernelView {
  readonly #netlink: BlockingNetlink
  #cost = { looks: 0, busyMs: 0 }

  constructor(namespace: string) {
    this.#netlink = new BlockingNetlink(namespace, IPVS_FAMILY)
  }

  get cost(): ViewCost {
    return { ...this.#cost }
  }

  /** Ten real servers take new connections, and among them these. */
  holds({ service, endpoints = [] }: Expected): boolean {
    const startedAt = performance.now()
    const messages = this.#netlink.list(encodeGetServers(virtualServer(service)))
    const active = new Set<string>(
      messages.flatMap((message) => {
        const server = decodeGetServers(message, 4)
        return server && server.weight > 0 ? [server.ip] : []
      }),
    )
    this.#cost.looks++
    this.#cost.busyMs += performance.now() - startedAt
    const complete = active.size === ENDPOINTS_PER_SERVICE
    return complete && endpoints.every((endpoint) => active.has(toText(endpoint)))
  }

  /** Whether there is a virtual server, with real servers or without. */
  exists(service: number): boolean {
    return this.#netlink.one(encodeGetService(virtualServer(service))) !== undefined
  }

  /**
   * `performance.now()` when the last of these was seen; undefined after the time-out.
   * One is waited for after the other. This thread does next to nothing else meanwhile.
   */
  async seen(expected: readonly Expected[], timeoutMs: number): Promise<number | undefined> {
    const deadline = performance.now() + timeoutMs
    let looks = 0
    for (const one of expected) {
      while (!this.holds(one)) {
        if (performance.now() > deadline) return undefined
        Atomics.wait(NEVER, 0, 0, PAUSE_MS)
        if (++looks % LOOKS_PER_TURN === 0) await turn()
      }
    }
    return performance.now()
  }

  /** The same for what takes seconds: looks now and then, and leaves the processor to others. */
  async seenInPassing(
    expected: readonly Expected[],
    { timeoutMs, pauseMs }: { readonly timeoutMs: number; readonly pauseMs: number },
  ): Promise<number | undefined> {
    const deadline = performance.now() + timeoutMs
    for (const one of expected) {
      while (!this.holds(one)) {
        if (performance.now() > deadline) return undefined
        await delay(pauseMs)
      }
    }
    return performance.now()
  }

  close(): void {
    this.#netlink.close()
  }
}

const NEVER = new Int32Array(new SharedArrayBuffer(4))

/** So many Services spread over a cluster, the first and the last among them. */
export function spread(size: number, most = 100): readonly Expected[] {
  const count = Math.min(size, most)
  return Array.from({ length: count }, (_, n) => ({
    service: count === 1 ? 0 : Math.round((n * (size - 1)) / (count - 1)),
  }))
}
