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

it.each(SIGNALS)('%s stops once; no handler catches a second one of any kind', async (signal) => {
  const caught = SIGNALS.map((one) => process.listenerCount(one))
  const stop = stopSignal()
  process.emit(signal, signal)
  expect(await stop).toBe(signal)
  expect(SIGNALS.map((one) => process.listenerCount(one))).toEqual(caught)
})
