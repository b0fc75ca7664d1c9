import type { ClusterView } from '../../../forwarding/cluster-view.ts'
import { compareText } from '../../../forwarding/compare-text.ts'
import { explainPool } from '../../../forwarding/explanation/explain-pool.ts'
import type { ChangeHistory, HistoryEntry } from '../../../inspection/history/change-history.ts'
import type { InspectionSource } from '../../../inspection/service/inspection-source.ts'
import type { HealthReport } from '../../../telemetry/health/health.ts'
import { waitedMs } from '../../../telemetry/health/health.ts'
import type { Readiness } from '../../../telemetry/health/readiness.ts'
import type { DesiredState } from '../../explanation/desired-state.ts'
import { explainMessage } from '../../explanation/explain-message.ts'
import type { Running } from '../engine/engine.ts'
import type { ThisNode } from '../node/this-node.ts'
import { entryStatuses } from '../observation/entry-status.ts'
import { isOfService } from '../traffic/is-of-service.ts'
import { listTraffic } from '../traffic/list-traffic.ts'
import type { TrafficCounters } from '../traffic/traffic-counters.ts'
import { desiredRules } from './desired-rules.ts'
import { type Documented, documents } from './documents.ts'
import { entryMessage } from './entry-message.ts'
import { tableCounts } from './status-message.ts'

/** What of the daemon is inspected. */
export interface Inspected extends Documented {
  readonly version: string
  readonly nodeName: string
  readonly startedAt: number
  readonly history: ChangeHistory
  readonly node: Documented['node'] & Pick<ThisNode, 'context'>
  /** The objects of the cluster that the entries are compiled from. */
  readonly cluster: ClusterView
  readonly modeName: () => string
  readonly traffic: TrafficCounters['read']
  readonly readiness: () => Readiness
  readonly health: () => HealthReport
}

const NOT_LISTED = 'the cluster is not listed yet; node-proxy status shows why'

/** The source of the inspection service, which reads the daemon at each request. */
export function nodeInspection(inspected: Inspected): InspectionSource {
  const { node, history, running, cluster } = inspected
  const pools: DesiredState['explainPool'] = (question) =>
    explainPool(question, cluster, node.context)
  return {
    status: () => statusMessage(inspected),
    entries: (service) => listEntries(running(), service),
    traffic: (service) => listTraffic({ ...running(), read: inspected.traffic }, service),
    explain(request) {
      const now = running()
      if (now === undefined) return NOT_LISTED
      const state = { table: now.table, rules: desiredRules(now, node), explainPool: pools }
      return explainMessage(state, request)
    },
    documents: () => documents(inspected, pools),
    watchChanges: (onChange) => history.watch((change) => onChange(changeMessage(change))),
  }
}

function statusMessage(inspected: Inspected) {
  const { version, nodeName, startedAt, history } = inspected
  const { ready: isReady, reasons, warnings } = inspected.readiness()
  const report = inspected.health()
  const waits = [...report.status.values()].map((family) => waitedMs(family, report.now))
  const now = inspected.running()
  return {
    ...{ version, nodeName, mode: inspected.modeName(), startedAt: BigInt(startedAt), isReady },
    ...{ reasons: [...reasons], warnings: [...warnings], programming: history.latency() },
    waitingMs: BigInt(Math.round(Math.max(0, ...waits))),
    driftRepaired: BigInt(history.driftRepaired),
    residentMemory: BigInt(process.memoryUsage.rss()),
    ...(now === undefined ? {} : tableCounts(now.table, now.tracker, now.mode)),
  }
}

/** Entries as they are when each is taken; what is gone by then is left out. */
function* listEntries(now: Running | undefined, service: string) {
  if (now === undefined) return
  const isWanted = isOfService(service)
  const wanted = [...now.table.entries()].filter((one) => isWanted(one.service))
  const statuses = entryStatuses(now)
  for (const id of wanted.map((one) => one.id).sort(compareText)) {
    const entry = now.table.get(id)
    if (entry !== undefined) yield entryMessage(entry, statuses.get(id) ?? 'Pending')
  }
}

function changeMessage({ service, compiledAt, appliedAt, objects, hasFailures }: HistoryEntry) {
  const times = { compiledAt: BigInt(compiledAt), appliedAt: BigInt(appliedAt) }
  return { service, ...times, objects, hasFailures }
}
