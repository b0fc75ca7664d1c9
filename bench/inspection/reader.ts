import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { openInspection } from '../../src/inspection/inspection-client.ts'
import { serviceName } from '../cluster/objects.ts'
import type { ReaderOrder, ReaderReports } from './reader-process.ts'

/** Milliseconds from the start of one reading to the start of the next. */
const PERIOD_MS = 1_000

/** Reads a node periodically until it is stopped, and then reports how long each reading took. */
class Reader {
  readonly #client
  readonly #service: string
  readonly #stopping = new AbortController()
  readonly #took: number[] = []
  readonly #ended: Promise<unknown>

  constructor({ socket, reads }: Extract<ReaderOrder, { what: 'start' }>) {
    this.#client = openInspection(socket)
    this.#service = reads === 'all' ? '' : `default/${serviceName(0)}`
    this.#ended = Promise.all([this.#follow(), this.#poll()])
  }

  async stop(): Promise<readonly number[]> {
    this.#stopping.abort()
    await this.#ended
    this.#client.close()
    return this.#took
  }

  async #follow(): Promise<void> {
    for await (const _ of this.#client.changes(this.#stopping.signal));
  }

  async #poll(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      const startedAt = performance.now()
      await this.#client.status()
      let entries = 0
      for await (const _ of this.#client.entries(this.#service)) entries++
      if (entries === 0) throw new Error('the daemon listed no entry')
      this.#took.push(performance.now() - startedAt)
      await delay(Math.max(0, PERIOD_MS - (performance.now() - startedAt)))
    }
  }
}

/** One order per line, one answer per line; see `WorkerProcess`. */
let reader: Reader | undefined
for await (const line of createInterface({ input: process.stdin })) {
  const order = JSON.parse(line) as ReaderOrder
  let report: ReaderReports[ReaderOrder['what']] = {}
  if (order.what === 'start') reader = new Reader(order)
  else report = { ms: (await reader?.stop()) ?? [] }
  process.stdout.write(`${JSON.stringify(report)}\n`)
}
