import { expect, test } from 'vitest'
import type { Change, Item } from './item.ts'
import { ChangeWindow } from './resource-cache.ts'

function change(revision: number, bytes = 10): Change {
  const after: Item = {
    key: '/pods/default/p',
    namespace: 'default',
    revision,
    value: Buffer.alloc(bytes),
    labels: {},
    fields: {},
  }
  return { revision, before: undefined, after, frames: new Map() }
}

test('numbers have no gaps and lead to what followed a revision', () => {
  const window = new ChangeWindow(10, 1 << 20)
  for (const revision of [3, 5, 5, 9]) window.push(change(revision))
  expect([window.first, window.next]).toEqual([0, 4])
  expect([2, 3, 4, 5, 8, 9, 20].map((revision) => window.numberAfter(revision))).toEqual([
    0, 1, 1, 3, 3, 4, 4,
  ])
  expect(window.at(3)?.revision).toBe(9)
})

test('old changes leave, and what they were needed for is refused', () => {
  const window = new ChangeWindow(300, 1 << 20)
  for (let revision = 1; revision <= 2000; revision++) window.push(change(revision))
  expect([window.first, window.next, window.floor]).toEqual([1700, 2000, 1700])
  expect(window.numberAfter(1699)).toBeUndefined()
  expect(window.numberAfter(1700)).toBe(1700)
  expect(window.at(1699)).toBeUndefined()
  expect(window.at(1999)?.revision).toBe(2000)
})

test('bytes bound it too, but the newest change always stays', () => {
  const window = new ChangeWindow(1000, 10_000)
  for (let revision = 1; revision <= 100; revision++) window.push(change(revision, 500))
  expect(window.next - window.first).toBe(6)
  window.push(change(101, 50_000))
  expect(window.next - window.first).toBe(1)
})

test('a reset leaves every watcher behind, also one that was up to date', () => {
  const window = new ChangeWindow(10, 1 << 20)
  window.push(change(1))
  const upToDate = window.next
  window.reset(7)
  expect(upToDate).toBeLessThan(window.first)
  expect([window.numberAfter(6), window.numberAfter(7)]).toEqual([undefined, window.next])
})
