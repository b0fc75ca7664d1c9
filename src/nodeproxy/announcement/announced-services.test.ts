import { expect, test } from 'vitest'
import { type ClusterEvent, ClusterStore } from '../../cluster/cluster-store.ts'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { decodeService } from '../../resources/service.ts'
import type { EndpointSource, ServiceKey } from '../../resources/types.ts'
import { configuration } from '../testing/wiring.ts'
import { AnnouncedServices } from './announced-services.ts'

function scene() {
  const clock = new FakeClock()
  const cluster = new ClusterStore()
  const applied: (() => void)[] = []
  const reports: (readonly string[])[] = []
  let isRefused = false
  const services: AnnouncedServices = new AnnouncedServices({
    configuration: { current: configuration({}) },
    clock,
    cluster,
    afterApply: (callback) => applied.push(callback),
    isRefused: () => isRefused,
    isWanted: () => true,
    onChange: () => {
      const listed = services.list()
      reports.push(listed.map(({ service, endpoints }) => `${service.key} ${endpoints.length}`))
    },
  })
  services.clusterListed()
  applied.shift()?.()
  reports.length = 0
  return {
    clock,
    reports,
    take(...events: readonly ClusterEvent[]) {
      cluster.apply(events)
      services.takeCluster(events)
    },
    /** What was enqueued first is in the kernel. */
    apply: () => applied.shift()?.(),
    /** The kernel takes nothing any more. */
    refuse: () => {
      isRefused = true
    },
  }
}

function service(name: string): ClusterEvent {
  const spec = { type: 'LoadBalancer', ports: [{ port: 80 }] }
  const decoded = decodeService({ metadata: { name, namespace: 'shop' }, spec })
  if (!decoded.ok) throw new Error('not decoded')
  return { kind: 'service', key: decoded.value.key, value: decoded.value }
}

function slice(name: string, of: string): ClusterEvent {
  const key = `shop/${of}` as ServiceKey
  const value: EndpointSource = { name, service: key, groups: [], triggeredAt: undefined }
  return { kind: 'endpoints', name, value }
}

test('a change that comes while another one is being applied counts when it is in the kernel itself', () => {
  const { take, apply, reports } = scene()
  take(service('a'), slice('a-1', 'a'))
  take(service('b'))
  expect(reports).toEqual([])
  apply()
  expect(reports).toEqual([['shop/a 1']])
  take(slice('b-1', 'b'))
  apply()
  expect(reports.slice(1)).toEqual([['shop/a 1', 'shop/b 0']])
  take({ kind: 'endpoints', name: 'a-1', value: undefined })
  apply()
  apply()
  expect(reports.slice(2)).toEqual([
    ['shop/a 1', 'shop/b 1'],
    ['shop/a 0', 'shop/b 1'],
  ])
})

test('endpoints of other Services, and those that are gone, change nothing', () => {
  const { take, apply, reports } = scene()
  take(service('a'), slice('a-1', 'a'))
  apply()
  take(slice('z-1', 'z'), { kind: 'endpoints', name: 'z-1', value: undefined })
  apply()
  expect(reports).toEqual([['shop/a 1']])
})

test('endpoints that move to another Service change that which had them', () => {
  const { take, apply, reports } = scene()
  take(slice('a-1', 'a'))
  take(service('a'), service('b'))
  apply()
  take(slice('a-1', 'b'))
  apply()
  take(slice('a-1', 'of no announced Service'))
  apply()
  expect(reports).toEqual([
    ['shop/a 1', 'shop/b 0'],
    ['shop/a 0', 'shop/b 1'],
    ['shop/a 0', 'shop/b 0'],
  ])
})

test('endpoints that come while their Service is being applied count when they are in the kernel themselves', () => {
  const { take, apply, reports } = scene()
  take(service('a'))
  take(slice('a-1', 'a'))
  apply()
  expect(reports).toEqual([['shop/a 0']])
  apply()
  expect(reports.slice(1)).toEqual([['shop/a 1']])
})

test('a change counts two seconds later while the kernel refuses all, and does not end the next wait', async () => {
  const { clock, take, apply, refuse, reports } = scene()
  take(service('a'))
  refuse()
  await clock.advance(1_999)
  expect(reports).toEqual([])
  await clock.advance(1)
  expect(reports).toEqual([['shop/a 0']])
  take(service('b'))
  apply()
  expect(reports).toHaveLength(1)
  apply()
  expect(reports.slice(1)).toEqual([['shop/a 0', 'shop/b 0']])
})

test('a change that waits for its turn does not count before it is in the kernel, however long that takes', async () => {
  const { clock, take, apply, refuse, reports } = scene()
  take(service('a'))
  await clock.advance(60_000)
  expect(reports).toEqual([])
  apply()
  expect(reports).toEqual([['shop/a 0']])
  take(service('b'))
  await clock.advance(3_000)
  refuse()
  await clock.advance(1_000)
  expect(reports.slice(1)).toEqual([['shop/a 0', 'shop/b 0']])
})
