import { expect, test } from 'vitest'
import type { ServiceKey } from '../../forwarding/entry.ts'
import type { TrafficNumbers } from '../../modes/mode.ts'
import { createMetrics } from '../../telemetry/metrics/metrics.ts'
import { ServiceTrafficGauges } from './service-traffic-gauges.ts'

const traffic = (bytes: number): TrafficNumbers => ({
  packetsIn: 1,
  bytesIn: bytes,
  packetsOut: 2,
  bytesOut: 0,
})

/** Two rows; each call publishes these bytes of Services and returns the rows of what clients sent. */
function rig() {
  const metrics = createMetrics()
  const gauges = new ServiceTrafficGauges(metrics, 2)
  return async (bytes: Readonly<Record<string, number>> | undefined) => {
    const counts = new Map(
      Object.entries(bytes ?? {}).map(([service, count]) => [
        `shop/${service}` as ServiceKey,
        traffic(count),
      ]),
    )
    gauges.refresh(bytes === undefined ? undefined : counts)
    const { values } = await metrics.serviceBytes.get()
    return values.flatMap(({ labels, value }) =>
      labels.direction === 'in'
        ? [`${labels.service_namespace}/${labels.service_name} ${value}`]
        : [],
    )
  }
}

test('packets and bytes of each Service and direction', async () => {
  const metrics = createMetrics()
  new ServiceTrafficGauges(metrics).refresh(new Map([['shop/web' as ServiceKey, traffic(40)]]))
  const labels = { service_namespace: 'shop', service_name: 'web' }
  expect((await metrics.servicePackets.get()).values).toMatchObject([
    { labels: { ...labels, direction: 'in' }, value: 1 },
    { labels: { ...labels, direction: 'out' }, value: 2 },
  ])
  expect((await metrics.serviceBytes.get()).values).toMatchObject([
    { labels: { ...labels, direction: 'in' }, value: 40 },
    { labels: { ...labels, direction: 'out' }, value: 0 },
  ])
})

test('of more Services than rows those with the most bytes have one, the others share one', async () => {
  const publish = rig()
  expect(await publish({ a: 1, b: 30, c: 20, d: 2 })).toEqual(['/ 3', 'shop/b 30', 'shop/c 20'])
})

test('a Service keeps its row until it goes, also when another one has more bytes', async () => {
  const publish = rig()
  await publish({ a: 3, b: 2, c: 1 })
  expect(await publish({ a: 3, b: 2, c: 50 })).toEqual(['shop/a 3', 'shop/b 2', '/ 50'])
  expect(await publish({ a: 3, c: 50, d: 7 })).toEqual(['shop/a 3', 'shop/c 50', '/ 7'])
})

test('where nothing is counted there are no rows', async () => {
  const publish = rig()
  await publish({ a: 1 })
  expect(await publish(undefined)).toEqual([])
})

test('of a mode that counts connections alone there are no packets and bytes', async () => {
  const metrics = createMetrics()
  const gauges = new ServiceTrafficGauges(metrics, 1)
  gauges.refresh(
    new Map([
      ['shop/web' as ServiceKey, { connections: 2 }],
      ['shop/db' as ServiceKey, { connections: 7 }],
    ]),
  )
  expect((await metrics.serviceConnections.get()).values).toMatchObject([
    { labels: { service_namespace: '', service_name: '' }, value: 2 },
    { labels: { service_namespace: 'shop', service_name: 'db' }, value: 7 },
  ])
  expect((await metrics.serviceBytes.get()).values).toEqual([])
  expect((await metrics.servicePackets.get()).values).toEqual([])
})
