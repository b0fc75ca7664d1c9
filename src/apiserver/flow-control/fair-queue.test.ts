import { expect, test } from 'vitest'
import { FairQueue, type Waiting } from './in-flight-limits.ts'

/** A queue into which names are put, and the names that were started or rejected. */
function recorded(capacity: number) {
  const queue = new FairQueue(capacity)
  const rejected: string[] = []
  const started: string[] = []
  const put = (client: string, name: string): Waiting => {
    const waiting = { start: () => started.push(name), reject: () => rejected.push(name) }
    queue.push(client, waiting)
    return waiting
  }
  const drain = (): readonly string[] => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) next.start()
    return started
  }
  return { queue, put, drain, rejected }
}

test('clients have their turns, however many requests each of them sent', () => {
  const { put, drain, queue } = recorded(10)
  for (const name of ['a1', 'a2', 'a3', 'b1', 'c1', 'b2']) put(name.charAt(0), name)
  expect(queue.size).toBe(6)
  expect(drain()).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3'])
  expect(queue.size).toBe(0)
})

test('in a full queue the client with the most waiting loses its newest', () => {
  const { put, drain, rejected } = recorded(3)
  for (const name of ['a1', 'a2', 'a3', 'b1', 'b2']) put(name.charAt(0), name)
  expect(rejected).toEqual(['a3', 'b2'])
  expect(drain()).toEqual(['a1', 'b1', 'a2'])
})

test('a request that waits no longer is not started', () => {
  const { put, drain, queue } = recorded(3)
  const first = put('a', 'a1')
  put('a', 'a2')
  queue.remove('a', first)
  queue.remove('a', first)
  expect(queue.size).toBe(1)
  expect(drain()).toEqual(['a2'])
})
