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

test('what was taken is not taken again', () => {
  const queue = new FlowQueue()
  queue.add([flows(53), flows(54)])
  expect(queue.takeAll()).toEqual([flows(53), flows(54)])
  expect(queue.takeAll()).toEqual([])
})

test('flows of a frontend replace earlier ones of it', () => {
  const queue = new FlowQueue()
  queue.add([flows(53, '10.0.0.1:53')])
  queue.add([flows(53, '10.0.0.2:53')])
  expect(queue.takeAll()).toEqual([flows(53, '10.0.0.2:53')])
})

test('flows that are put back do not replace newer ones of their frontend', () => {
  const queue = new FlowQueue()
  const failed = [flows(53, 'old'), flows(54)]
  queue.add([flows(53, 'new')])
  queue.putBack(failed)
  expect(queue.takeAll()).toEqual([flows(53, 'new'), flows(54)])
})

test.each([
  { family: 6 as const },
  { protocol: 'SCTP' as const },
  { ip: 'node' as const },
  { port: 54 },
])('flows of another frontend are kept beside them: %o', (other) => {
  const queue = new FlowQueue()
  queue.add([flows(53), { ...flows(53), ...other }])
  expect(queue.takeAll()).toHaveLength(2)
})
