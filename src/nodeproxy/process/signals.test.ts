import { expect, test } from 'vitest'
import { listenForSignals } from './signals.ts'

test('SIGHUP reloads once a handler is set, and never ends the daemon', () => {
  const { onHangup } = listenForSignals()
  let reads = 0
  process.emit('SIGHUP')
  onHangup(() => reads++)
  process.emit('SIGHUP')
  expect(reads).toBe(1)
  process.emit('SIGTERM', 'SIGTERM')
  process.emit('SIGINT', 'SIGINT')
  process.emit('SIGHUP')
  expect([reads, process.listenerCount('SIGHUP')]).toEqual([1, 0])
})

test.each(['SIGTERM', 'SIGINT'] as const)(
  '%s requests the stop, also before the daemon waits for it',
  async (name) => {
    const { stop } = listenForSignals()
    process.emit(name, name)
    expect(await stop).toBe(name)
    // Nothing handles a second signal, of either kind, so it ends the process.
    expect(['SIGTERM', 'SIGINT', 'SIGHUP'].map((one) => process.listenerCount(one))).toEqual([
      0, 0, 0,
    ])
  },
)
