import { expect, test } from 'vitest'
import type { OnReady, Poller } from '../../../../kernel/sockets/poller.ts'
import type { Sockets } from '../../../../kernel/sockets/sockets.ts'
import { EventLoop } from './event-loop.ts'

const IDLE_MS = 30
const DESCRIPTOR = 7

/** Reports one descriptor as ready after a while without events, then none ever again. */
function quietPoller(): Poller {
  const cell = new Int32Array(new SharedArrayBuffer(4))
  let isFirst = true
  const wait = (_: number, onReady: OnReady) => {
    if (isFirst) {
      Atomics.wait(cell, 0, 0, IDLE_MS)
      isFirst = false
      onReady(DESCRIPTOR, 0)
    }
    return 0
  }
  return { wait, addReadable: () => true } as unknown as Poller
}

test('a timer that is set after a long wait runs its full time', () => {
  const loop = new EventLoop({} as Sockets, quietPoller())
  const log: string[] = []
  const begin = loop.now
  const ready = () => {
    log.push(`${loop.now - begin >= IDLE_MS - 1 ? 'after' : 'before'} the wait`)
    loop.after(IDLE_MS - 10, () => {
      log.push('timer')
      loop.stop()
    })
    loop.inNextRound(() => loop.inNextRound(() => log.push('another round')))
  }
  loop.watchReadable(DESCRIPTOR, { ready })
  loop.run()
  expect(log).toEqual(['after the wait', 'another round', 'timer'])
})

test('a connection without a handler is reset at the end, unless it was closed before', () => {
  const log: string[] = []
  const sockets = {
    resetOnClose: (socket: number) => log.push(`reset ${socket}`),
    sys: { close: (descriptor: number) => log.push(`close ${descriptor}`) },
  }
  const loop = new EventLoop(sockets as unknown as Sockets, quietPoller())
  for (const socket of [8, 9]) loop.silence(socket)
  loop.close(8)
  loop.stop()
  loop.run()
  expect(log).toEqual(['reset 9', 'close 8', 'close 9'])
})
