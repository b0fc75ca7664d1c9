import { setTimeout as delay } from 'node:timers/promises'
import { addNamespace, namespaceName, removeNamespace } from '../../lab/namespace.ts'
import { type EncodedTransaction, NetfilterRequests } from '../kernel/netfilter-requests.ts'

/** The kernel frees what a namespace held after it is gone. */
const REST_MS = 300
/** So long the daemon's changes are apart, more or less. */
const CHANGE_REST_MS = 40

/** What the sending of some transactions took, one after the other. */
export interface Replayed {
  readonly ms: number
  readonly longestMs: number
  readonly cpuSeconds: number
}

/** A namespace of its own that gets transactions which are encoded already. */
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

  /** Milliseconds of each change, which is one or more transactions. */
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
