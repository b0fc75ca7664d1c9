import { afterEach, expect, it } from 'vitest'
import { stopSignal } from '../server.ts'

const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const
const before = SIGNALS.map((signal) => process.listeners(signal))

afterEach(() => {
  for (const [index, signal] of SIGNALS.entries()) {
    for (const listener of process.listeners(signal)) {
      if (!before[index]?.includes(listener)) process.off(signal, listener)
    }
  }
})

it.each(SIGNALS)('%s stops once; no handler catches a second one', async (signal) => {
  const caught = process.listenerCount(signal)
  const stop = stopSignal()
  process.emit(signal, signal)
  expect(await stop).toBe(signal)
  expect(process.listenerCount(signal)).toBe(caught)
})
