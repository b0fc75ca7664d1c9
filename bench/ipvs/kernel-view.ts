import { setTimeout as delay } from 'node:timers/promises'
import {
  decodeGetServers,
  encodeGetServers,
  encodeGetService,
} from '../../src/kernel/ipvs/netlink-ipvs.ts'
import { IPVS_FAMILY } from '../../src/kernel/ipvs/wire.ts'
import { ENDPOINTS_PER_SERVICE } from '../cluster/objects.ts'
import { BlockingNetlink } from '../lab/blocking-netlink.ts'
import { virtualServer } from './objects.ts'

/** The virtual servers of a node, read over netlink. */
export class KernelView {
  readonly #netlink: BlockingNetlink

  constructor(namespace: string) {
    this.#netlink = new BlockingNetlink(namespace, IPVS_FAMILY)
  }

  /** Whether ten real servers of the virtual server accept new connections. */
  holds(service: number): boolean {
    const messages = this.#netlink.list(encodeGetServers(virtualServer(service)))
    const active = messages.filter((message) => (decodeGetServers(message, 4)?.weight ?? 0) > 0)
    return active.length === ENDPOINTS_PER_SERVICE
  }

  /** Whether the virtual server exists, with or without real servers. */
  exists(service: number): boolean {
    return this.#netlink.one(encodeGetService(virtualServer(service))) !== undefined
  }

  /**
   * `performance.now()` when the last of these virtual servers was found complete; undefined after the timeout. It
   * waits for one after the other, with pauses in which other processes can run.
   */
  async seen(
    services: readonly number[],
    { timeoutMs, pauseMs }: { readonly timeoutMs: number; readonly pauseMs: number },
  ): Promise<number | undefined> {
    const deadline = performance.now() + timeoutMs
    for (const service of services) {
      while (!this.holds(service)) {
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

/** The numbers of at most `most` Services spread over a cluster, including the first and the last one. */
export function spread(size: number, most = 100): readonly number[] {
  const count = Math.min(size, most)
  return Array.from({ length: count }, (_, n) =>
    count === 1 ? 0 : Math.round((n * (size - 1)) / (count - 1)),
  )
}
