import { setTimeout as delay } from 'node:timers/promises'
import { markPatch, objectName, SERVICES } from '../objects.ts'
import { Client, percentiles } from './client.ts'
import type { Crowd } from './crowd.ts'
import { expiry } from './expiry.ts'
import type { FanOutOrder, Percentiles } from './order.ts'
import { markOf } from './watcher.ts'

const BOUND_MS = 10_000

/** Writes one after the other, and waits after each write until every watcher has its event. */
export async function fanOut(order: FanOutOrder, crowd: Crowd): Promise<Percentiles> {
  await using client = new Client(order, 1)
  const latencies: number[] = []
  for (let write = 0; write < order.writes; write++) {
    await delay(order.restMs)
    latencies.push(...(await seenByAll(client, write, crowd)))
  }
  return percentiles(latencies)
}

async function seenByAll(client: Client, index: number, crowd: Crowd): Promise<readonly number[]> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const mark = `fan-out-${process.hrtime.bigint()}`
  const latencies: number[] = []
  const sent = performance.now()
  crowd.onLine = (line) => {
    if (markOf(line) !== mark) return
    latencies.push(performance.now() - sent)
    if (latencies.length === crowd.size) resolve()
  }
  const path = `${SERVICES}/${objectName(index)}`
  await client.send({ method: 'PATCH', path, body: markPatch(mark) })
  await Promise.race([promise, expiry(BOUND_MS)])
  return latencies
}
