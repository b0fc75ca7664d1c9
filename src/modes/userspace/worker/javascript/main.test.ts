import { once } from 'node:events'
import { MessageChannel } from 'node:worker_threads'
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { createAffinityMemory } from '../../../../affinity/affinity-memory.ts'
import { systemRandom } from '../../../../lib/random.ts'
import {
  backend,
  connectTo,
  freeListener,
  LIMITS,
  routeTo,
} from '../../testing/conformance-fixtures.ts'
import { createCounterMemory } from '../counters.ts'
import type { Order } from '../messages.ts'
import { createOccupancy } from '../occupancy.ts'
import { runJavascriptWorker } from './main.ts'

const HOUR_MS = 3_600_000

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date', 'setInterval', 'clearInterval'] }))
afterEach(() => void vi.useRealTimers())

/** A worker in this thread; the result gives it an order and awaits the answer. */
function startWorker() {
  const { port1, port2 } = new MessageChannel()
  runJavascriptWorker({
    dataPath: 'javascript',
    workers: 1,
    limits: { ...LIMITS, idleMs: HOUR_MS },
    mark: 0,
    affinity: createAffinityMemory(LIMITS.affinityClients, systemRandom),
    counters: createCounterMemory(),
    occupancy: createOccupancy(systemRandom),
    port: port2,
    wake: -1,
  })
  const give = async (order: Order) => {
    port1.postMessage(order)
    await once(port1, 'message')
  }
  onTestFinished(async () => {
    await give({ number: 0, end: true })
    port1.close()
  })
  return give
}

test('a connection outlives a step of the clock that is longer than its idle timeout', async () => {
  const give = startWorker()
  const at = await freeListener()
  const route = routeTo(at, [await backend((socket) => socket.pipe(socket))])
  const open = [{ protocol: 'TCP', ...at } as const]
  await give({ number: 1, routes: [[route.id, route]], listeners: { open, close: [] } })
  const client = connectTo(at)
  for (const stepMs of [0, 2 * HOUR_MS]) {
    vi.setSystemTime(Date.now() + stepMs)
    vi.advanceTimersByTime(1_000)
    client.write('ping')
    expect(String(await once(client, 'data'))).toBe('ping')
  }
})
