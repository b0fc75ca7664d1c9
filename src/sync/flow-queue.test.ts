import { expect, test } from 'vitest'
import type { StaleFlows } from '../forwarding/entry.ts'
import { ip } from '../forwarding/testing/fixtures.ts'
import { FlowQueue } from './flow-queue.ts'

const flows = (port: number, ...keep: readonly string[]): StaleFlows => ({
  family: 4,
  protocol: 'UDP',
  ip: ip('172.30.0.1'),
  port,
  keep: new Set(keep),
})

const NOW = 1_700_000_000_000
const tcp = (port: number, ...keep: readonly string[]): StaleFlows => ({
  ...flows(port, ...keep),
  protocol: 'TCP',
})

test('what was taken is not taken again', () => {
  const queue = new FlowQueue()
  queue.add([flows(53), flows(54)], NOW)
  expect(queue.takeDue(NOW)).toEqual([flows(53), flows(54)])
  expect(queue.takeDue(NOW)).toEqual([])
})

test('flows of a frontend replace earlier ones of it', () => {
  const queue = new FlowQueue()
  queue.add([flows(53, '10.0.0.1:53')], NOW)
  queue.add([flows(53, '10.0.0.2:53')], NOW)
  expect(queue.takeDue(NOW)).toEqual([flows(53, '10.0.0.2:53')])
})

test('TCP connections have a second for their answers, from the first change on', () => {
  const queue = new FlowQueue()
  expect(queue.nextDue()).toBe(Number.POSITIVE_INFINITY)
  queue.add([tcp(80, 'a')], NOW)
  queue.add([tcp(80, 'b'), tcp(81), flows(53)], NOW + 900)
  expect(queue.nextDue()).toBe(NOW + 900)
  expect(queue.takeDue(NOW + 999)).toEqual([flows(53)])
  expect(queue.nextDue()).toBe(NOW + 1_000)
  expect(queue.takeDue(NOW + 1_000)).toEqual([tcp(80, 'b')])
  expect(queue.takeDue(NOW + 1_899)).toEqual([])
  expect(queue.takeDue(NOW + 1_900)).toEqual([tcp(81)])
})

test('after a rest TCP connections wait longer, other flows do not', () => {
  const queue = new FlowQueue()
  queue.add([tcp(79)], NOW - 1_000)
  queue.rest(NOW, NOW + 5_000)
  queue.add([tcp(80), flows(53)], NOW)
  expect(queue.nextDue()).toBe(NOW)
  expect(queue.takeDue(NOW + 4_999)).toEqual([flows(53)])
  expect(queue.nextDue()).toBe(NOW + 5_000)
  expect(queue.takeDue(NOW + 5_000)).toEqual([tcp(79), tcp(80)])
})

test('TCP connections of one change after the other are taken together, once a second', () => {
  const queue = new FlowQueue()
  const taken: (readonly [at: number, flows: number])[] = []
  for (let at = 0; at < 5_000; at += 50) {
    queue.add([tcp(1_000 + at)], NOW + at)
    const due = queue.takeDue(NOW + at)
    if (due.length === 0) continue
    taken.push([at, due.length])
    queue.rest(NOW + at, NOW + at + 100)
  }
  expect(taken).toEqual([
    [1_000, 1],
    [2_000, 20],
    [3_000, 20],
    [4_000, 20],
  ])
})

test('flows that are put back wait, and do not replace newer ones of their frontend', () => {
  const queue = new FlowQueue()
  const failed = [flows(53, 'old'), flows(54)]
  queue.add([flows(53, 'new')], NOW)
  queue.putBack(failed, NOW + 1)
  expect(queue.takeDue(NOW)).toEqual([flows(53, 'new')])
  expect(queue.takeDue(NOW + 1)).toEqual([flows(54)])
})

test.each([
  { family: 6 as const },
  { protocol: 'SCTP' as const },
  { ip: 'node' as const },
  { port: 54 },
])('flows of another frontend are kept beside them: %o', (other) => {
  const queue = new FlowQueue()
  queue.add([flows(53), { ...flows(53), ...other }], NOW)
  expect(queue.takeDue(NOW)).toHaveLength(2)
})
