import { markPatch, objectName, SERVICES } from '../objects.ts'
import { Client, drive, percentiles, type Request } from './client.ts'
import { Crowd } from './crowd.ts'
import { expiry } from './expiry.ts'
import type { LoadReports, PatchOrder } from './order.ts'
import { markOf } from './watcher.ts'

/** Milliseconds to wait for the last events. */
const LAST_MS = 2_000

/** Each client patches as fast as it is answered; a watch records when the events arrive. */
export async function patch(order: PatchOrder): Promise<LoadReports['patch']> {
  const sent = new Map<string, number>()
  const latencies: number[] = []
  const all = Promise.withResolvers<void>()
  let isOver = false
  using watch = new Crowd()
  await watch.open(order, 1)
  watch.onLine = (line) => {
    const at = sent.get(markOf(line) ?? '')
    if (at !== undefined) latencies.push(performance.now() - at)
    if (isOver && latencies.length === sent.size) all.resolve()
  }
  await using client = new Client(order, order.clients)
  const end = performance.now() + order.ms
  const throughput = await drive(client, order.clients, () =>
    performance.now() < end ? nextPatch(order, sent) : undefined,
  )
  isOver = true
  if (latencies.length < sent.size) await Promise.race([all.promise, expiry(LAST_MS)])
  return { ...throughput, watch: percentiles(latencies) }
}

function nextPatch({ services }: PatchOrder, sent: Map<string, number>): Request {
  const count = sent.size
  const mark = `patch-${process.hrtime.bigint()}`
  sent.set(mark, performance.now())
  const path = `${SERVICES}/${objectName(count % services)}`
  return { method: 'PATCH', path, body: markPatch(mark) }
}
