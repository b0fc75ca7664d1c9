import { expect, onTestFinished, test, vi } from 'vitest'
import type { ClusterApi } from '../data/cluster-api.ts'
import type { NodeApi } from '../data/node-api.ts'
import { pause } from '../data/repeat.ts'
import { RequestError } from '../data/request-error.ts'
import { clusterState } from './cluster-state.ts'
import { followNodes, followStatuses, roundMs } from './follow-cluster.ts'

const VISIBLE = { hidden: false, addEventListener() {}, removeEventListener() {} }
const HIDDEN = { ...VISIBLE, hidden: true }

/** A cluster whose nodes `silent-…` do not answer until the test says so. */
function fakeApi(names: readonly string[]) {
  const read = new Map<string, number>()
  const refuse = Promise.withResolvers<never>()
  refuse.promise.catch(() => undefined)
  const api: Pick<ClusterApi, 'nodes' | 'node'> = {
    nodes: async () => names.map((name) => ({ metadata: { name } })),
    node: (name) => {
      const status: NodeApi['status'] = async () => {
        read.set(name, (read.get(name) ?? 0) + 1)
        if (name.startsWith('silent')) return refuse.promise
        return { nodeName: name, isReady: true }
      }
      return { status } as NodeApi
    },
  }
  return { api: api as ClusterApi, read, refuse }
}

function follow(api: ClusterApi, visibility = VISIBLE) {
  vi.useFakeTimers()
  const state = clusterState()
  const ended = new AbortController()
  onTestFinished(() => {
    ended.abort()
    vi.useRealTimers()
  })
  followNodes(api, state, visibility, ended.signal)
  followStatuses(api, state, visibility, ended.signal)
  return state
}

test('every node is read once in a round; silent ones hold up none of the others', async () => {
  const names = Array.from({ length: 40 }, (_, index) => `node-${index}`)
  const { api, read, refuse } = fakeApi([...names, 'silent-1', 'silent-2', 'silent-3'])
  const state = follow(api)
  await vi.advanceTimersByTimeAsync(500)
  expect(names.map((name) => read.get(name))).toEqual(names.map(() => 1))
  refuse.reject(new RequestError('connection refused', { status: 503 }))
  await vi.advanceTimersByTimeAsync(500)
  expect(state.readings.value.get('silent-1')).toMatchObject({
    ...{ failures: 1, failure: { message: 'connection refused', status: 503 } },
  })
  await vi.advanceTimersByTimeAsync(60_000)
  const [well, silent] = [read.get('node-3') ?? 0, read.get('silent-3') ?? 0]
  expect(well).toBeGreaterThan(15)
  expect(silent).toBeGreaterThan(2)
  expect(silent).toBeLessThan(6)
})

test('one that takes long is read apart, without a failure, and then takes part again', async () => {
  const { api, read } = fakeApi(['node-1'])
  const { status } = api.node('node-1')
  let isSlow = true
  const slow: NodeApi['status'] = async (signal) => {
    if (isSlow) await pause(5_000, signal)
    signal.throwIfAborted()
    return status(signal)
  }
  const state = follow({ ...api, node: () => ({ ...api.node('node-1'), status: slow }) })
  await vi.advanceTimersByTimeAsync(4_000)
  expect(state.readings.value.size).toBe(0)
  await vi.advanceTimersByTimeAsync(8_000)
  expect(state.readings.value.get('node-1')).toMatchObject({ failure: undefined, failures: 0 })
  isSlow = false
  const before = read.get('node-1') ?? 0
  await vi.advanceTimersByTimeAsync(20_000)
  expect(read.get('node-1')).toBeGreaterThan(before + 4)
})

test('answers that arrive together are one change of the store', async () => {
  const { api } = fakeApi(Array.from({ length: 200 }, (_, index) => `node-${index}`))
  const state = follow(api)
  let changes = 0
  state.readings.subscribe(() => void changes++)
  await vi.advanceTimersByTimeAsync(1_000)
  expect([state.readings.value.size, changes]).toEqual([200, 1])
})

test('a hidden page requests nothing', async () => {
  const { api, read } = fakeApi(['node-1'])
  const state = follow(api, HIDDEN)
  await vi.advanceTimersByTimeAsync(60_000)
  expect([state.nodes.value, read.size]).toEqual([undefined, 0])
})

test('the more nodes, the more rarely each is read', () => {
  expect([3, 60, 500, 5_000].map(roundMs)).toEqual([...[3_000, 3_000, 10_000, 100_000]])
})
