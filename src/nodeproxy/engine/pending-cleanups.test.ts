import { expect, test } from 'vitest'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { recordingLog } from '../testing/wiring.ts'
import { PendingCleanups } from './pending-cleanups.ts'

function rig() {
  const clock = new FakeClock()
  const { log, lines } = recordingLog()
  const pendingCleanups = new PendingCleanups({ clock, log })
  /** Modes that are removed completely. */
  const retired = () =>
    lines.flatMap((line) => /^info removed every rule .* \{"mode":"(.*)"\}$/.exec(line)?.[1] ?? [])
  /** A mode that drains until the test ends it or it is aborted. */
  const slow = (draining: number) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const signals: AbortSignal[] = []
    return {
      signals,
      resolve,
      reject,
      draining,
      async drainAndCleanup(signal: AbortSignal) {
        signals.push(signal)
        signal.addEventListener('abort', () => resolve())
        await promise
      },
    }
  }
  return { clock, lines, retired, pendingCleanups, slow }
}

test('all but the mode at work leave, and only once', async () => {
  const { clock, retired, pendingCleanups, slow } = rig()
  const [a, b, c] = [slow(0), slow(0), slow(0)]
  pendingCleanups.add('a', a)
  pendingCleanups.add('b', b)
  pendingCleanups.add('c', c)
  pendingCleanups.completed('b')
  pendingCleanups.completed('b')
  await clock.advance(0)
  expect([a, b, c].map(({ signals }) => signals.length)).toEqual([1, 0, 1])
  a.resolve()
  await clock.advance(0)
  expect(retired()).toEqual(['a'])
  pendingCleanups.completed('b')
  expect(a.signals).toHaveLength(1)
})

test('the removal of a mode that never served is no news', async () => {
  const { clock, lines, retired, pendingCleanups, slow } = rig()
  const [a, c, d] = [slow(0), slow(0), slow(0)]
  pendingCleanups.add('a', a, () => Promise.resolve(false))
  pendingCleanups.add('c', c, () => Promise.resolve(true))
  pendingCleanups.add('d', d, () => Promise.reject(new Error('cannot be read')))
  pendingCleanups.completed('b')
  for (const one of [a, c, d]) one.resolve()
  await clock.advance(0)
  expect(retired().toSorted()).toEqual(['c', 'd'])
  expect(lines).toContain(
    'debug removed every rule and object of the previous proxy mode {"mode":"a"}',
  )
})

test('backends that drain in removed modes are counted until the removal ends', async () => {
  const { clock, pendingCleanups, slow } = rig()
  const [a, c] = [slow(2), slow(3)]
  pendingCleanups.add('a', a)
  pendingCleanups.add('c', c)
  expect(pendingCleanups.draining).toBe(0)
  pendingCleanups.completed('b')
  expect(pendingCleanups.draining).toBe(5)
  a.resolve()
  await clock.advance(0)
  expect(pendingCleanups.draining).toBe(3)
})

test('recall resolves when the removal has stopped, and the mode can be removed again later', async () => {
  const { clock, retired, pendingCleanups, slow } = rig()
  const a = slow(0)
  pendingCleanups.add('a', a)
  pendingCleanups.completed('b')
  await clock.advance(0)
  await pendingCleanups.recall('a')
  expect([a.signals[0]?.aborted, retired()]).toEqual([true, []])
  pendingCleanups.completed('b')
  await clock.advance(0)
  expect(a.signals).toHaveLength(2)
})

test('a failed cleanup is logged and repeated', async () => {
  const { clock, lines, retired, pendingCleanups } = rig()
  let attempts = 0
  pendingCleanups.add('a', {
    async drainAndCleanup() {
      attempts++
      if (attempts < 3) throw new Error('busy')
    },
  })
  pendingCleanups.completed('b')
  await clock.advance(29_999)
  expect(attempts).toBe(1)
  await clock.advance(60_000)
  expect([attempts, retired()]).toEqual([3, ['a']])
  expect(lines.filter((line) => line.startsWith('error'))).toHaveLength(2)
})

test('stop ends the wait for a repeated cleanup, and no cleanup begins after it', async () => {
  const { clock, pendingCleanups, slow } = rig()
  const b = slow(0)
  pendingCleanups.add('a', { drainAndCleanup: () => Promise.reject(new Error('busy')) })
  pendingCleanups.add('b', b)
  pendingCleanups.completed('c')
  await clock.advance(0)
  await pendingCleanups.stop()
  expect([b.signals[0]?.aborted, clock.pending()]).toEqual([true, []])
  pendingCleanups.completed('c')
  expect(b.signals).toHaveLength(1)
})
