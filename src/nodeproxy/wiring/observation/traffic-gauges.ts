import type { Traffic } from '../../../modes/mode.ts'
import type { Metrics } from '../../../telemetry/metrics/metrics.ts'

/** Publishes the counters of a mode that forwards packets in user space; other modes have no `traffic`. */
export function trafficGauges(metrics: Metrics, traffic: Traffic | undefined): void {
  metrics.forwarderWorkers.reset()
  if (traffic === undefined) return
  const counts = traffic.counts()
  metrics.forwarderWorkers.set({ data_path: traffic.dataPath }, traffic.workers)
  metrics.forwarderSessions.set({ protocol: 'TCP' }, counts.connectionsNow)
  metrics.forwarderSessions.set({ protocol: 'UDP' }, counts.udpFlowsNow)
  metrics.forwarderBackendsAside.set(counts.setAsideNow)
  metrics.affinityClients.set(counts.affinityClientsNow)
  for (const [counter, labels, value] of [
    [metrics.forwarderSessionsTotal, { protocol: 'TCP' }, counts.connections],
    [metrics.forwarderSessionsTotal, { protocol: 'UDP' }, counts.udpFlows],
    [metrics.forwarderBytes, { direction: 'in' }, counts.bytesIn],
    [metrics.forwarderBytes, { direction: 'out' }, counts.bytesOut],
    [metrics.forwarderRefused, { reason: 'no_backend' }, counts.unserved],
    [metrics.forwarderRefused, { reason: 'over_limit' }, counts.overLimit],
    [metrics.forwarderRefused, { reason: 'outside_ranges' }, counts.outsideRanges],
    [metrics.forwarderEnded, { reason: 'evicted' }, counts.evicted],
    [metrics.forwarderEnded, { reason: 'drained' }, counts.drainedOut],
    [metrics.forwarderConnectFailures, {}, counts.connectFailures],
    [metrics.forwarderConnectRetries, {}, counts.connectRetries],
    [metrics.affinityEvicted, {}, counts.affinityEvicted],
  ] as const) {
    counter.remove(labels)
    counter.inc(labels, value)
  }
}
