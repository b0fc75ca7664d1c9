import { expect, test } from 'vitest'
import type { Datagrams } from '../../../../kernel/sockets/datagrams.ts'
import type { Selection } from '../selection.ts'
import { at, newCounters, served } from '../testing/worker-fixtures.ts'
import type { EventLoop } from './event-loop.ts'
import { UdpFlow } from './udp-flow.ts'

/** A flow whose backend never stops to answer. */
function endlessFlow() {
  const tasks: (() => void)[] = []
  const closed: number[] = []
  const loop = {
    now: 0,
    watch: () => true,
    inNextRound: (task: () => void) => tasks.push(task),
    close: (descriptor: number) => closed.push(descriptor),
  } as unknown as EventLoop
  const datagrams = { receiveConnected: () => 1, passTo: () => 1 } as unknown as Datagrams
  const [state] = served().pool('cluster').values()
  const request = { client: at('192.0.2.1'), destination: at('10.96.0.1') }
  const selection = { request } as unknown as Selection
  const ends = { server: 7, replies: 8, from: request.destination, state: state! }
  const callbacks = { onEnd: () => undefined, onRefused: () => undefined }
  const parts = { loop, datagrams, counters: newCounters() }
  return { flow: new UdpFlow(parts, { ...ends, ...callbacks }, selection), tasks, closed }
}

test('a backend that never stops gives others their turn', () => {
  const { flow, tasks } = endlessFlow()
  flow.ready()
  expect(tasks).toHaveLength(1)
  tasks[0]?.()
  expect(tasks).toHaveLength(2)
})

test('a flow that has ended schedules no further turn', () => {
  const { flow, tasks, closed } = endlessFlow()
  flow.ready()
  flow.abort()
  tasks[0]?.()
  expect([tasks.length, closed]).toEqual([1, [7]])
})
