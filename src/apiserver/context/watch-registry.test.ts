import { expect, test } from 'vitest'
import { WatchRegistry } from './watch-registry.ts'

test('it is full while as many watches run as there may be', () => {
  const watches = new WatchRegistry(1)
  const forget = watches.add(() => undefined)
  expect([watches.isFull, watches.isClosed]).toEqual([true, false])
  forget()
  expect(watches.isFull).toBe(false)
})

test('closed, it ends those that run, and one that was just about to begin', () => {
  const watches = new WatchRegistry(9)
  const ended: string[] = []
  watches.add(() => ended.push('running'))
  watches.endAll()
  expect([watches.isFull, watches.isClosed]).toEqual([false, true])
  watches.add(() => ended.push('late'))
  expect(ended).toEqual(['running', 'late'])
})
