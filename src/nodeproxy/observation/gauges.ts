import type { EntryId } from '../../forwarding/entry.ts'
import { countNoLocalEndpoints } from '../../forwarding/problems.ts'
import type { ForwardingTable } from '../../forwarding/table.ts'
import type { Family } from '../../lib/ip.ts'
import type { Mode, ObjectDescription, ObjectKey, Program, Traffic } from '../../modes/mode.ts'
import type { DeltaTracker } from '../../sync/delta-tracker.ts'
import { type FamilyName, type HealthReport, waitedMs } from '../../telemetry/health/health.ts'
import type { Metrics } from '../../telemetry/metrics/metrics.ts'
import type { WatchedResource } from '../../watch/cluster-watcher.ts'
import type { ChangeTimes } from './change-times.ts'

interface Running {
  readonly table: ForwardingTable
  readonly tracker: DeltaTracker
  readonly mode: Pick<Mode, 'program' | 'traffic'>
}

/** What the gauges are read from. */
export interface GaugeSources {
  /** Undefined until the cluster is listed. */
  readonly running: Running | undefined
  readonly watched: readonly WatchedResource[]
  readonly changeTimes: Pick<ChangeTimes, 'pending'>
  readonly health: Pick<HealthReport, 'now' | 'status'>
  /** The active mode, its iptables variant, and the number of draining backends, also of removed modes. */
  readonly mode: { readonly name: string; readonly backend: string; readonly draining: number }
}

/** Updates the gauges that are counted at each scrape, because maintaining them would cost more. */
export function refreshGauges(
  metrics: Metrics,
  { running, watched, changeTimes, health, mode }: GaugeSources,
): void {
  watchGauges(metrics, watched)
  metrics.serviceChangesPending.set(changeTimes.pending('service'))
  metrics.endpointChangesPending.set(changeTimes.pending('endpoints'))
  for (const [ip_family, family] of health.status) {
    metrics.oldestPendingChange.set({ ip_family }, waitedMs(family, health.now) / 1_000)
  }
  metrics.modeInfo.reset()
  metrics.modeInfo.set({ mode: mode.name, backend: mode.backend }, 1)
  metrics.drainingBackends.set(mode.draining)
  trafficGauges(metrics, running?.mode.traffic)
  if (running === undefined) return
  for (const family of [4, 6] as const) noLocalEndpoints(metrics, running.table, family)
  kernelObjects(metrics, running)
  for (const [status, count] of Object.entries(countStatuses(running))) {
    metrics.entries.set({ status }, count)
  }
}

function watchGauges(metrics: Metrics, watched: readonly WatchedResource[]): void {
  const gauges = [metrics.watchConnected, metrics.watchLastEvent]
  for (const gauge of [...gauges, metrics.objects, metrics.rejectedObjects]) gauge.reset()
  for (const { resource, state } of watched) {
    if (state === undefined) continue
    metrics.watchConnected.set({ resource }, state.connected ? 1 : 0)
    if (state.lastEventAt !== undefined)
      metrics.watchLastEvent.set({ resource }, state.lastEventAt / 1_000)
    metrics.objects.set({ resource }, state.objects)
    metrics.rejectedObjects.set({ resource }, state.rejected)
    const counts: Readonly<Record<string, number>> = { ...state.events }
    for (const [type, count] of Object.entries(counts)) {
      const labels = { resource, type: type.toUpperCase() }
      metrics.watchEvents.remove(labels)
      metrics.watchEvents.inc(labels, count)
    }
    metrics.reflectorRestarts.remove({ resource, reason: 'list' })
    metrics.reflectorRestarts.inc({ resource, reason: 'list' }, state.restarts)
    metrics.reflectorRestarts.remove({ resource, reason: 'failure' })
    metrics.reflectorRestarts.inc({ resource, reason: 'failure' }, state.failures)
  }
}

function noLocalEndpoints(metrics: Metrics, table: ForwardingTable, family: 4 | 6): void {
  const ip_family: FamilyName = `IPv${family}`
  const ofFamily = [...table.entries()].filter((entry) => entry.family === family)
  const { internal, external } = countNoLocalEndpoints(ofFamily)
  metrics.noLocalEndpoints.set({ traffic_policy: 'internal', ip_family }, internal)
  metrics.noLocalEndpoints.set({ traffic_policy: 'external', ip_family }, external)
}

function kernelObjects(metrics: Metrics, { tracker, mode }: Running): void {
  const objects = [...tracker.wantedKeys()].map((key) => mode.program.describe(key))
  const counts = new Map<string, number>()
  for (const { kind, family } of objects) {
    const name = `${kind} ${family === undefined ? 'any' : `IPv${family}`}`
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  metrics.programmedObjects.reset()
  for (const [name, count] of counts) {
    const [kind = '', ip_family = ''] = name.split(' ')
    metrics.programmedObjects.set({ kind, ip_family }, count)
  }
  metrics.iptablesRules.reset()
  for (const { table, family, count } of ruleCounts(objects)) {
    metrics.iptablesRules.set({ table, ip_family: `IPv${family}` }, count)
  }
}

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

/** A number of packet filter rules. */
interface RuleCount {
  readonly table: string
  readonly family: Family
  readonly count: number
}

/** Counts the packet filter rules of these objects, by table and family; objects without rules are skipped. */
export function ruleCounts(objects: Iterable<ObjectDescription>): readonly RuleCount[] {
  const totals = new Map<string, RuleCount>()
  for (const { family, rules } of objects) {
    if (rules === undefined || family === undefined) continue
    const { table } = rules
    const key = `${table} ${family}`
    const count = (totals.get(key)?.count ?? 0) + rules.count
    totals.set(key, { table, family, count })
  }
  return [...totals.values()]
}

/** The status of a Service port, the worst first. */
export type EntryStatus = 'Error' | 'Pending' | 'Conflict' | 'Done'

interface Sources {
  readonly table: Pick<ForwardingTable, 'entries' | 'problems'>
  readonly tracker: Pick<DeltaTracker, 'failures' | 'pending'>
  readonly mode: { readonly program: Pick<Program, 'ownersOf'> }
}

/** The status of each Service port that is forwarded or in conflict; the worst one, if a port has several. */
export function entryStatuses({
  table,
  tracker,
  mode,
}: Sources): ReadonlyMap<EntryId, EntryStatus> {
  const ownersOf = (keys: Iterable<ObjectKey>) =>
    new Set([...keys].flatMap((key) => mode.program.ownersOf(key)))
  const failing = ownersOf(tracker.failures().keys())
  const change = tracker.pending(Number.POSITIVE_INFINITY)
  const pending = ownersOf([...change.set, ...change.unset])
  const conflicts = table.problems().filter(({ status }) => status === 'Conflict')
  const conflicting = new Set(conflicts.map(({ entry }) => entry))
  const statusOf = (id: EntryId): EntryStatus => {
    if (failing.has(id)) return 'Error'
    if (pending.has(id)) return 'Pending'
    return conflicting.has(id) ? 'Conflict' : 'Done'
  }
  const ids = [...table.entries()].map(({ id }) => id)
  return new Map([...ids, ...conflicting].map((id) => [id, statusOf(id)]))
}

/** Counts the Service ports by status. */
function countStatuses(sources: Sources): Record<EntryStatus, number> {
  const counts = { Error: 0, Pending: 0, Conflict: 0, Done: 0 }
  for (const status of entryStatuses(sources).values()) counts[status]++
  return counts
}
