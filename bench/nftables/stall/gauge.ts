import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { NetfilterRequests } from '../kernel/netfilter-requests.ts'
import { Echo } from './echo.ts'
import type { StallOrder, StallReports } from './order.ts'
import { ADD_ONE, EMPTY_CHAIN, listTable } from './unrelated-table.ts'

/** A program that repeats one operation, and records how long each took. */
const REST_MS = 2
const RULES = 100
let waits: number[] = []

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(follow(JSON.parse(line) as StallOrder))}\n`)
}
process.exit()

function follow(order: StallOrder): StallReports[StallOrder['what']] {
  if (order.what === 'take') {
    const ms = waits
    waits = []
    return { ms }
  }
  void repeat(gaugeOf(order))
  return {}
}

async function repeat(act: () => void): Promise<void> {
  try {
    for (let n = 1; ; n++) {
      const startedAt = performance.now()
      act()
      waits.push(performance.now() - startedAt)
      await delay(REST_MS)
    }
  } catch (error) {
    process.stdout.write(`${JSON.stringify({ error: String(error) })}\n`)
    process.exit(1)
  }
}

function gaugeOf(order: Extract<StallOrder, { what: 'start' }>): () => void {
  if (order.gauge === 'packet') {
    const echo = new Echo(order)
    return () => echo.round()
  }
  const requests = new NetfilterRequests(order.node)
  if (order.gauge === 'list') return () => listTable(requests)
  let rules = 0
  return () => {
    requests.transact(ADD_ONE)
    if (++rules % RULES === 0) requests.transact(EMPTY_CHAIN)
  }
}
