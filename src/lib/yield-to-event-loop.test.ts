import { expect, test } from 'vitest'
import { inBreaths } from './yield-to-event-loop.ts'

function* sum(numbers: readonly number[], each: () => void = () => undefined) {
  let total = 0
  for (const number of numbers) {
    each()
    yield
    total += number
  }
  return total
}

test('steps lead to their result', async () => {
  expect(await inBreaths(sum([1, 2, 3]))).toBe(6)
  expect(await inBreaths(sum([]))).toBe(0)
})

test('others have their turn while many steps are taken', async () => {
  let [turns, isOver] = [0, false]
  const others = (): void => {
    turns++
    if (!isOver) setImmediate(others)
  }
  setImmediate(others)
  const busy = (): void => {
    const end = performance.now() + 1
    while (performance.now() < end);
  }
  await inBreaths(sum(Array.from({ length: 50 }, Number), busy))
  isOver = true
  expect(turns).toBeGreaterThan(3)
})

test('what a step throws ends them', async () => {
  const broken = sum([1], () => {
    throw new Error('broken')
  })
  await expect(inBreaths(broken)).rejects.toThrow('broken')
})
