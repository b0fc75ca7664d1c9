import { expect, test } from 'vitest'
import { repeat } from './schedule.ts'

class FakeVisibility {
  hidden = false
  readonly #listeners = new Set<() => void>()

  set(hidden: boolean): void {
    this.hidden = hidden
    for (const listener of this.#listeners) listener()
  }

  addEventListener(_type: string, listener: () => void): void {
    this.#listeners.add(listener)
  }

  removeEventListener(_type: string, listener: () => void): void {
    this.#listeners.delete(listener)
  }

  get listeners(): number {
    return this.#listeners.size
  }
}

test('runs while the page is seen, waits while it is hidden, and ends with the signal', async () => {
  const visibility = new FakeVisibility()
  const ended = new AbortController()
  let runs = 0
  const run = async (): Promise<void> => void runs++
  const repeated = repeat(run, () => ({ everyMs: 1 }), visibility, ended.signal)
  await expect.poll(() => runs).toBeGreaterThan(2)
  visibility.set(true)
  await expect.poll(() => visibility.listeners).toBe(1)
  const before = runs
  visibility.set(false)
  await expect.poll(() => runs).toBeGreaterThan(before)
  ended.abort()
  await repeated
  expect(visibility.listeners).toBe(0)
})

test('what takes long waits so many times as long', async () => {
  const ended = new AbortController()
  const starts: number[] = []
  const run = async (): Promise<void> => {
    starts.push(performance.now())
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  const timing = () => ({ everyMs: 1, restFactor: 3 })
  const repeated = repeat(run, timing, new FakeVisibility(), ended.signal)
  await expect.poll(() => starts.length).toBe(2)
  ended.abort()
  await repeated
  expect((starts[1] ?? 0) - (starts[0] ?? 0)).toBeGreaterThanOrEqual(70)
})
