import { expect, test } from 'vitest'
import { Mutex } from './mutex.ts'

test('work never overlaps and keeps its order', async () => {
  const mutex = new Mutex()
  const steps: string[] = []
  const first = Promise.withResolvers<void>()
  const one = mutex.run(async () => {
    steps.push('one begins')
    await first.promise
    steps.push('one ends')
  })
  const two = mutex.run(async () => {
    steps.push('two')
    return 2
  })
  await Promise.resolve()
  expect(steps).toEqual(['one begins'])
  first.resolve()
  await one
  expect(await two).toBe(2)
  expect(steps).toEqual(['one begins', 'one ends', 'two'])
})

test('work that fails rejects for its own caller only', async () => {
  const mutex = new Mutex()
  const failing = mutex.run(() => Promise.reject(new Error('no')))
  const next = mutex.run(async () => 'done')
  await expect(failing).rejects.toThrow('no')
  expect(await next).toBe('done')
})
