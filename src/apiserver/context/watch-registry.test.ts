import { expect, test } from 'vitest'
import { WatchRegistry } from './watch-registry.ts'

test('the registry is full while as many watches run as the limit allows', () => {
  const watches = new WatchRegistry(1)
  const remove = watches.add(() => undefined)
  expect([watches.isFull, watches.isClosed]).toEqual([true, false])
  remove()
  expect(watches.isFull).toBe(false)
})

test('endAll ends the running watches, and a watch that is added later', () => {
  const watches = new WatchRegistry(9)
  const ended: string[] = []
  watches.add(() => ended.push('running'))
  watches.endAll()
  expect([watches.isFull, watches.isClosed]).toEqual([false, true])
  watches.add(() => ended.push('late'))
  expect(ended).toEqual(['running', 'late'])
})
