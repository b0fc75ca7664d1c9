import { setTimeout as delay } from 'node:timers/promises'
import { addNamespace, namespaceName, removeNamespace } from '../../lab/namespace.ts'
import { type EncodedTransaction, NetfilterRequests } from '../kernel/netfilter-requests.ts'

/** Milliseconds in which the kernel frees the objects of a removed namespace. */
const REST_MS = 300
/** Milliseconds between two changes, about as many as between those of the daemon. */
const CHANGE_REST_MS = 40

/** The cost of sending transactions one after the other. */
export interface Replayed {
  readonly ms: number
  readonly longestMs: number
  readonly cpuSeconds: number
}

/** A namespace of its own, to which encoded transactions are sent. */
export class ReplayPlace {
  readonly name: string
  readonly #requests: NetfilterRequests

  constructor(serial: number) {
    this.name = namespaceName(`raw${serial}`)
    addNamespace(this.name)
    this.#requests = new NetfilterRequests(this.name)
  }

  send(transactions: readonly EncodedTransaction[]): Replayed {
    const cpuBefore = process.cpuUsage()
    const startedAt = performance.now()
    let longestMs = 0
    for (const transaction of transactions) {
      const sentAt = performance.now()
      this.#requests.transact(transaction)
      longestMs = Math.max(longestMs, performance.now() - sentAt)
    }
    const ms = performance.now() - startedAt
    const { user, system } = process.cpuUsage(cpuBefore)
    return { ms, longestMs, cpuSeconds: (user + system) / 1e6 }
  }

  /** Sends changes of one or more transactions. @returns milliseconds of each change */
  async sendEach(changes: readonly (readonly EncodedTransaction[])[]): Promise<readonly number[]> {
    const ms: number[] = []
    for (const change of changes) {
      await delay(CHANGE_REST_MS)
      ms.push(this.send(change).ms)
    }
    return ms
  }

  async remove(): Promise<void> {
    this.#requests.close()
    removeNamespace(this.name)
    await delay(REST_MS)
  }
}
