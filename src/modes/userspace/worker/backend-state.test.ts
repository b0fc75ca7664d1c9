import { expect, test } from 'vitest'
import { backend } from '../../testing/mode-fixtures.ts'
import { BackendState } from './backend-state.ts'

/** Milliseconds that it is set aside when it fails at `now`. */
function pauseAfter(state: BackendState, now: number): number {
  state.failed(now)
  let pause = 0
  while (state.isAside(now + pause)) pause += 500
  return pause
}

test('a backend is set aside for longer with each failure, until it takes a client', () => {
  const state = new BackendState(backend('10.1.0.1'))
  expect(state.isAside(0)).toBe(false)
  const pauses = [0, 1, 2, 3, 4, 5, 6].map((round) => pauseAfter(state, round * 100_000))
  expect(pauses).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000, 30_000])
  state.succeeded()
  expect(state.isAside(600_000)).toBe(false)
  expect(pauseAfter(state, 600_000)).toBe(1000)
})

test('a hundred clients that fail together are one failure', () => {
  const state = new BackendState(backend('10.1.0.1'))
  for (let client = 0; client < 100; client++) state.failed(client)
  expect([state.isAside(999), state.isAside(1000)]).toEqual([true, false])
})
