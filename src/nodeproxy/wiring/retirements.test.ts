import { expect, test } from 'vitest'
import { FakeClock } from '../../lib/fake-clock.ts'
import { Retirements } from './retirements.ts'
import { recordingLog } from './wiring.fixture.ts'

function rig() {
  const clock = new FakeClock()
  const { log, lines } = recordingLog()
  const retirements = new Retirements({ clock, log })
  /** Modes of which nothing is left. */
  const retired = () =>
    lines.flatMap((line) => /^info nothing .* \{"mode":"(.*)"\}$/.exec(line)?.[1] ?? [])
  /** A mode that retires until the test ends it or it is aborted. */
  const slow = (draining: number) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const signals: AbortSignal[] = []
    return {
      ...{ signals, resolve, reject, draining },
      async drainAndCleanup(signal: AbortSignal) {
        signals.push(signal)
        signal.addEventListener('abort', () => resolve())
        await promise
      },
    }
  }
  return { clock, lines, retired, retirements, slow }
}

test('all but the mode at work leave, and only once', async () => {
  const { clock, retired, retirements, slow } = rig()
  const [a, b, c] = [slow(0), slow(0), slow(0)]
  retirements.owe('a', a)
  retirements.owe('b', b)
  retirements.owe('c', c)
  retirements.completed('b')
  retirements.completed('b')
  expect([a, b, c].map(({ signals }) => signals.length)).toEqual([1, 0, 1])
  a.resolve()
  await clock.advance(0)
  expect(retired()).toEqual(['a'])
  retirements.completed('b')
  expect(a.signals).toHaveLength(1)
})

test('what drains in modes that leave is counted while they do', async () => {
  const { clock, retirements, slow } = rig()
  const [a, c] = [slow(2), slow(3)]
  retirements.owe('a', a)
  retirements.owe('c', c)
  expect(retirements.draining).toBe(0)
  retirements.completed('b')
  expect(retirements.draining).toBe(5)
  a.resolve()
  await clock.advance(0)
  expect(retirements.draining).toBe(3)
})

test('a mode that is recalled has stopped before anybody goes on, and leaves again later', async () => {
  const { retired, retirements, slow } = rig()
  const a = slow(0)
  retirements.owe('a', a)
  retirements.completed('b')
  await retirements.recall('a')
  expect([a.signals[0]?.aborted, retired()]).toEqual([true, []])
  retirements.completed('b')
  expect(a.signals).toHaveLength(2)
})

test('a retirement that fails is told and tried again', async () => {
  const { clock, lines, retired, retirements } = rig()
  let attempts = 0
  retirements.owe('a', {
    async drainAndCleanup() {
      attempts++
      if (attempts < 3) throw new Error('busy')
    },
  })
  retirements.completed('b')
  await clock.advance(29_999)
  expect(attempts).toBe(1)
  await clock.advance(60_000)
  expect([attempts, retired()]).toEqual([3, ['a']])
  expect(lines.filter((line) => line.startsWith('error'))).toHaveLength(2)
})

test('nothing begins after the end, and what waits for another try does not wait on', async () => {
  const { clock, retirements, slow } = rig()
  const b = slow(0)
  retirements.owe('a', { drainAndCleanup: () => Promise.reject(new Error('busy')) })
  retirements.owe('b', b)
  retirements.completed('c')
  await clock.advance(0)
  await retirements.stop()
  expect([b.signals[0]?.aborted, clock.pending()]).toEqual([true, []])
  retirements.completed('c')
  expect(b.signals).toHaveLength(1)
})
