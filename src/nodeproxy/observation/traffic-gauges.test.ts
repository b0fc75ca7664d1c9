import { expect, test } from 'vitest'
import type { Traffic, TrafficCounts } from '../../modes/mode.ts'
import { createMetrics } from '../../telemetry/metrics/metrics.ts'
import { trafficGauges } from './gauges.ts'

const COUNTS: TrafficCounts = {
  connections: 10,
  connectionsNow: 1,
  udpFlows: 20,
  udpFlowsNow: 2,
  bytesIn: 300,
  bytesOut: 400,
  connectFailures: 5,
  connectRetries: 6,
  unserved: 7,
  overLimit: 8,
  evicted: 9,
  outsideRanges: 11,
  drainedOut: 12,
  setAsideNow: 13,
  drainingNow: 14,
  affinityClientsNow: 15,
  affinityEvicted: 16,
}

function rig() {
  const metrics = createMetrics()
  const shown = async () =>
    (await metrics.text())
      .split('\n')
      .filter((line) => /^nodeproxy_(forwarder|affinity)/.test(line))
      .map((line) => line.replace('nodeproxy_', ''))
      .toSorted()
  const traffic: Traffic = {
    dataPath: 'native',
    workers: 2,
    ownPorts: new Set<number>(),
    counts: () => COUNTS,
  }
  return { metrics, shown, traffic }
}

test('every count has a metric of its own, and stays what it is when it is shown again', async () => {
  const { metrics, shown, traffic } = rig()
  trafficGauges(metrics, traffic)
  trafficGauges(metrics, traffic)
  expect(await shown()).toEqual([
    'affinity_clients 15',
    'affinity_evicted_total 16',
    'forwarder_backends_aside 13',
    'forwarder_bytes_total{direction="in"} 300',
    'forwarder_bytes_total{direction="out"} 400',
    'forwarder_connect_failures_total 5',
    'forwarder_connect_retries_total 6',
    'forwarder_ended_total{reason="drained"} 12',
    'forwarder_ended_total{reason="evicted"} 9',
    'forwarder_refused_total{reason="no_backend"} 7',
    'forwarder_refused_total{reason="outside_ranges"} 11',
    'forwarder_refused_total{reason="over_limit"} 8',
    'forwarder_sessions_total{protocol="TCP"} 10',
    'forwarder_sessions_total{protocol="UDP"} 20',
    'forwarder_sessions{protocol="TCP"} 1',
    'forwarder_sessions{protocol="UDP"} 2',
    'forwarder_workers{data_path="native"} 2',
  ])
})

test('where the kernel moves the bytes no workers are shown', async () => {
  const { metrics, shown, traffic } = rig()
  trafficGauges(metrics, traffic)
  trafficGauges(metrics, undefined)
  expect((await shown()).filter((line) => line.startsWith('forwarder_workers'))).toEqual([])
})
