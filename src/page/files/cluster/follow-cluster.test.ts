import { expect, onTestFinished, test, vi } from 'vitest'
import type { ClusterApi } from '../data/cluster-api.ts'
import { RequestError } from '../data/connection.ts'
import type { NodeApi } from '../data/node-api.ts'
import { eachOf, pause } from '../data/schedule.ts'
import { clusterState, listed } from './cluster-state.ts'
import { followNodes, followStatuses, ReadingsWriter, roundMs } from './follow-cluster.ts'
import { answered } from './node-reading.ts'

const VISIBLE = { hidden: false, addEventListener() {}, removeEventListener() {} }
const HIDDEN = { ...VISIBLE, hidden: true }

/** Takes as long, and is over with the signal. */
async function late(ms: number, signal: AbortSignal): Promise<void> {
  await pause(ms, signal)
  signal.throwIfAborted()
}

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
    failures: 1,
    failure: { message: 'connection refused', status: 503 },
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
    if (isSlow) await late(5_000, signal)
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
  expect(read.get('node-1')).toBeLessThan(before + 10)
})

test('answers that arrive together are one change of the store', async () => {
  const { api } = fakeApi(Array.from({ length: 200 }, (_, index) => `node-${index}`))
  const node: ClusterApi['node'] = (name) => ({
    ...api.node(name),
    status: async (signal) => {
      await late(5, signal)
      return api.node(name).status(signal)
    },
  })
  const state = follow({ ...api, node })
  let changes = 0
  state.readings.subscribe(() => void changes++)
  await vi.advanceTimersByTimeAsync(1_000)
  expect([state.readings.value.size, changes]).toEqual([200, 1])
})

test('one that does not answer at all has failed after fifteen seconds', async () => {
  const { api } = fakeApi(['node-1'])
  const status: NodeApi['status'] = async (signal) => {
    await late(3_600_000, signal)
    return {}
  }
  const state = follow({ ...api, node: (name) => ({ ...api.node(name), status }) })
  await vi.advanceTimersByTimeAsync(20_000)
  const message = 'no answer within 15 s'
  expect(state.readings.value.get('node-1')).toMatchObject({ failure: { message, status: 0 } })
})

test('one that is silent for an hour is read about once a minute', async () => {
  const { api, read, refuse } = fakeApi(['silent-1'])
  refuse.reject(new RequestError('connection refused', { status: 503 }))
  follow(api)
  await vi.advanceTimersByTimeAsync(3_600_000)
  expect(read.get('silent-1')).toBeGreaterThan(50)
  expect(read.get('silent-1')).toBeLessThan(70)
})

test('a list that is refused says why, and is read again soon', async () => {
  const { api } = fakeApi(['node-1'])
  let isRefused = true
  const refusal = new RequestError('nodes is forbidden', { status: 403 })
  const nodes: ClusterApi['nodes'] = (signal) =>
    isRefused ? Promise.reject(refusal) : api.nodes(signal)
  const state = follow({ ...api, nodes })
  await vi.advanceTimersByTimeAsync(100)
  expect(state.failure.value).toMatchObject({ message: 'nodes is forbidden', status: 403 })
  isRefused = false
  await vi.advanceTimersByTimeAsync(4_000)
  expect([state.failure.value, state.nodes.value?.length]).toEqual([undefined, 1])
})

test('what ends with the page is no failure', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const { api, read } = fakeApi(['silent-1'])
  const state = clusterState()
  const ended = new AbortController()
  const nodes = async (signal: AbortSignal) => {
    await late(60_000, signal)
    return []
  }
  followNodes({ ...api, nodes }, state, VISIBLE, ended.signal)
  state.nodes.set([{ metadata: { name: 'silent-1' } }])
  const status: NodeApi['status'] = async (signal) => {
    read.set('silent-1', 1)
    await late(60_000, signal)
    return {}
  }
  const node: ClusterApi['node'] = (name) => ({ ...api.node(name), status })
  followStatuses({ ...api, node }, state, VISIBLE, ended.signal)
  await vi.advanceTimersByTimeAsync(1_000)
  ended.abort()
  await vi.advanceTimersByTimeAsync(60_000)
  expect([state.failure.value, state.readings.value.size, read.size]).toEqual([undefined, 0, 1])
})

test('a page that ends before the Nodes are listed waits for them no longer', async () => {
  const ended = new AbortController()
  const waiting = listed(clusterState(), ended.signal)
  ended.abort()
  expect(await waiting).toEqual([])
})

test('as many run at once as may', async () => {
  let [running, most, done] = [0, 0, 0]
  await eachOf([1, 2, 3, 4, 5, 6, 7], 3, async () => {
    running++
    most = Math.max(most, running)
    await Promise.resolve()
    running--
    done++
  })
  expect([most, done]).toEqual([3, 7])
})

test('a reading counts before the store has it', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const { readings } = clusterState()
  const writer = new ReadingsWriter(readings)
  const reading = answered(undefined, { isReady: true })
  writer.put('node-1', reading)
  expect([writer.get('node-1'), readings.value.size]).toEqual([reading, 0])
  await vi.advanceTimersByTimeAsync(1_000)
  expect([...readings.value]).toEqual([['node-1', reading]])
})

test('a hidden page requests nothing', async () => {
  const { api, read } = fakeApi(['node-1'])
  const state = follow(api, HIDDEN)
  await vi.advanceTimersByTimeAsync(60_000)
  expect([state.nodes.value, read.size]).toEqual([undefined, 0])
  state.nodes.set([{ metadata: { name: 'node-1' } }])
  await vi.advanceTimersByTimeAsync(60_000)
  expect(read.size).toBe(0)
})

test('the more nodes, the more rarely each is read', () => {
  expect([3, 60, 500, 5_000].map(roundMs)).toEqual([3_000, 3_000, 10_000, 100_000])
})
