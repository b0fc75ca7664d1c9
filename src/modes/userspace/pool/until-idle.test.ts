import { expect, test } from 'vitest'
import { untilIdle } from './until-idle.ts'

const PATIENT = new AbortController().signal

/** The counts at each check; the last one stays. */
function looks(...numbers: readonly (readonly [connections: number, now: number])[]) {
  let look = 0
  return {
    counts: () => {
      const [connections = 0, connectionsNow = 0] =
        numbers[Math.min(look++, numbers.length - 1)] ?? []
      return { connections, connectionsNow, udpFlowsNow: 0 }
    },
    looked: () => look,
  }
}

test('it is idle when the last client has left', async () => {
  const { counts, looked } = looks([5, 1], [5, 1], [5, 1], [5, 0])
  await untilIdle({ counts }, PATIENT)
  expect(looked()).toBe(4)
})

test('a client that came and left between two checks restarts the quiet time', async () => {
  const { counts, looked } = looks([5, 0], [5, 0], [6, 0], [7, 0], [7, 0])
  await untilIdle({ counts, quietMs: 150 }, PATIENT)
  expect(looked()).toBe(6)
})

test('another process that serves, or the signal, ends it however many clients there are', async () => {
  const { counts, looked } = looks([5, 3])
  await untilIdle({ counts, hasSuccessor: () => true }, PATIENT)
  await untilIdle({ counts }, AbortSignal.abort())
  // Neither looked at more than what there was at the beginning.
  expect(looked()).toBe(2)
  const stop = new AbortController()
  const idle = untilIdle({ counts }, stop.signal)
  stop.abort()
  await idle
})
