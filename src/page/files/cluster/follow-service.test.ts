import { expect, onTestFinished, test, vi } from 'vitest'
import type { ClusterApi } from '../data/cluster-api.ts'
import { RequestError } from '../data/connection.ts'
import type { NodeApi } from '../data/node-api.ts'
import { pause } from '../data/schedule.ts'
import { Store } from '../data/store.ts'
import { clusterState } from './cluster-state.ts'
import { followService, type ServiceOverNodes, UNREAD } from './follow-service.ts'
import { followServices, NO_SERVICES, type ServiceList } from './follow-services.ts'
import { answered, failed } from './node-reading.ts'

const VISIBLE = { hidden: false, addEventListener() {}, removeEventListener() {} }
const REFUSED = { message: 'connection refused', code: '', status: 503 }

/** Nodes `n0` to `n4`: `n3` cannot be read, and `n4` refuses. */
function cluster() {
  vi.useFakeTimers()
  const ended = new AbortController()
  onTestFinished(() => {
    ended.abort()
    vi.useRealTimers()
  })
  const requests: string[] = []
  let connections = 0
  const node = (name: string): Partial<NodeApi> => ({
    async *services() {
      requests.push(`${name} services`)
      if (name === 'n4') throw new RequestError('forbidden', { status: 403 })
      yield [{ service: `shop/of-${name}` }]
    },
    async *entries(service) {
      requests.push(`${name} ${service}`)
      if (name === 'n4') throw new RequestError('forbidden', { status: 403 })
      yield [{ id: 'shop/web:http/TCP/4', backends: [{ ip: '10.0.0.1', port: 80 }] }]
    },
    async *traffic(service) {
      connections += 10
      const traffic = { connections: `${connections}` }
      const entry = 'shop/web:http/TCP/4'
      yield [{ service, backends: [{ entry, ip: '10.0.0.1', port: 80, traffic }] }]
    },
  })
  const state = clusterState()
  const names = ['n0', 'n1', 'n2', 'n3', 'n4']
  state.nodes.set(names.map((name) => ({ metadata: { name } })))
  const well = answered(undefined, { isReady: true, waitingMs: '7' })
  const readings = names.map((name) => [name, well] as const)
  state.readings.set(new Map([...readings, ['n3', failed(undefined, REFUSED)] as const]))
  const hasHints = async (service: string) => {
    requests.push(`hints of ${service}`)
    if (service !== 'shop/web') throw new RequestError('forbidden', { status: 403 })
    return true
  }
  const api = { node, hasHints } as unknown as ClusterApi
  return { api, requests, ended, parts: { state, visibility: VISIBLE, signal: ended.signal } }
}

test('a Service: every node that answers is read, the others say why not', async () => {
  const { api, requests, parts } = cluster()
  const found = new Store<ServiceOverNodes>(UNREAD)
  followService(api, { ...parts, found, service: 'shop/web' })
  await vi.advanceTimersByTimeAsync(2_000)
  const { services, hasHints, rounds } = found.value
  expect(rounds).toBe(2)
  expect(services.map(({ node, failure }) => [node, failure])).toEqual([
    ['n0', ''],
    ['n1', ''],
    ['n2', ''],
    ['n3', 'connection refused'],
    ['n4', 'forbidden'],
  ])
  expect(services[0]?.samples.map((sample) => sample?.counts.size)).toEqual([1, 1])
  expect(requests.filter((one) => one.startsWith('n3'))).toEqual([])
  expect(requests).toContain('n0 shop/web')
  expect(hasHints).toBe(true)
})

test('hints that cannot be read are none, and the nodes are read all the same', async () => {
  const { api, parts } = cluster()
  const found = new Store<ServiceOverNodes>(UNREAD)
  followService(api, { ...parts, found, service: 'shop/other' })
  await vi.advanceTimersByTimeAsync(500)
  expect(found.value).toMatchObject({ rounds: 1, hasHints: false })
})

test('nothing is written after the page has ended', async () => {
  const { api, ended, parts } = cluster()
  const found = new Store<ServiceOverNodes>(UNREAD)
  const node: ClusterApi['node'] = (name) => ({
    ...api.node(name),
    async *entries() {
      await pause(60_000, ended.signal)
      yield []
    },
  })
  followService({ ...api, node }, { ...parts, found, service: 'shop/web' })
  await vi.advanceTimersByTimeAsync(500)
  const before = found.value
  expect(before.services).toHaveLength(5)
  ended.abort()
  await vi.advanceTimersByTimeAsync(10_000)
  expect(found.value).toBe(before)
})

test('the list is that of the node with the newest state; a refusal is named', async () => {
  const { api, parts } = cluster()
  const list = new Store<ServiceList>(NO_SERVICES)
  const { readings } = parts.state
  const newest = answered(undefined, { isReady: true })
  readings.set(new Map([...readings.value, ['n2', newest]]))
  followServices(api, { ...parts, list })
  await vi.advanceTimersByTimeAsync(100)
  expect(list.value).toMatchObject({ node: 'n2', services: [{ service: 'shop/of-n2' }] })
  readings.set(new Map([['n4', newest]]))
  await vi.advanceTimersByTimeAsync(11_000)
  expect(list.value).toMatchObject({ node: 'n2', failure: 'n4: forbidden' })
  readings.set(new Map([['n1', newest]]))
  await vi.advanceTimersByTimeAsync(11_000)
  expect(list.value).toMatchObject({ node: 'n1', failure: '' })
})
