import type { MessageInitShape } from '@bufbuild/protobuf'
import {
  type Backend,
  compareText,
  type ForwardingEntry,
  type Frontend,
  type Protocol,
} from '../../forwarding/entry.ts'
import { explainPool } from '../../forwarding/explain-pool.ts'
import type { ClusterView } from '../../forwarding/node-context.ts'
import type { ForwardingTable } from '../../forwarding/table.ts'
import type { ChangeHistory, HistoryEntry } from '../../inspection/change-history.ts'
import type {
  BackendSchema,
  DocumentPartSchema,
  EntrySchema,
  FrontendSchema,
  StatusResponseSchema,
} from '../../inspection/generated/inspection_pb.ts'
import type { InspectionSource } from '../../inspection/inspection-source.ts'
import type { IpAddress } from '../../lib/ip.ts'
import type { Mode } from '../../modes/mode.ts'
import { localTraffic } from '../../modes/netfilter/settings/netfilter-settings.ts'
import type { PolicyContent, PolicyFlow } from '../../policy/policy-content.ts'
import { refusalIn } from '../../policy/refusal.ts'
import type { DeltaTracker } from '../../sync/delta-tracker.ts'
import { type HealthReport, waitedMs } from '../../telemetry/health/health.ts'
import type { Readiness } from '../../telemetry/health/readiness.ts'
import type { AnnouncementState } from '../announcement/address-announcements.ts'
import type { RoutesState } from '../announcement/route-announcements.ts'
import type { Running } from '../engine/engine.ts'
import type { ThisNode } from '../engine/this-node.ts'
import { entryStatuses } from '../observation/gauges.ts'
import { listTraffic } from '../traffic/list-traffic.ts'
import type { TrafficCounters } from '../traffic/traffic-counters.ts'
import { isOfService } from '../traffic/traffic-counters.ts'
import type { DesiredRules, DesiredState } from './desired-state.ts'
import { DESIRED_DOCUMENT } from './desired-state.ts'
import { backendMessage, explainMessage } from './explain-message.ts'
import { POLICIES_DOCUMENT, policyLines } from './policies-document.ts'
import { POOLS_DOCUMENT, poolLines } from './pools-document.ts'

const PROTOCOLS: readonly Protocol[] = ['TCP', 'UDP', 'SCTP']

/** The most characters of a document in one message. */
const PART_SIZE = 1_000_000

/** The most Services, and the most refusals, that a status lists. */
const MOST = 10

/** The parts of the daemon that are inspected. */
export interface Inspected extends Documented {
  readonly version: string
  readonly nodeName: string
  readonly startedAt: number
  readonly history: ChangeHistory
  readonly node: Documented['node'] & Pick<ThisNode, 'context'>
  /** The objects of the cluster that the entries are compiled from. */
  readonly cluster: ClusterView
  readonly modeName: () => string
  /** What is enforced of NetworkPolicies, or why nothing is. */
  readonly networkPolicies: () => string
  /** Which load balancer addresses this node announces; undefined: the setting is off. */
  readonly announcement: () => AnnouncementState | undefined
  /** What this node announces to routers; undefined: the setting is off. */
  readonly routes: () => RoutesState | undefined
  /** Which node announces an address, and why this one does not; undefined: it is not announced by nodes. */
  readonly announcer: (ip: IpAddress) => string | undefined
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
      const policies = inspected.policies()
      const state = {
        table: now.table,
        rules: desiredRules(now, node),
        explainPool: pools,
        ...(policies && { refusalOf: (flow: PolicyFlow) => refusalIn(policies, flow) }),
      }
      const message = explainMessage(state, request)
      if (typeof message === 'string') return message
      return { ...message, announcement: inspected.announcer(message.dst as IpAddress) ?? '' }
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
    version,
    nodeName,
    mode: inspected.modeName(),
    networkPolicies: inspected.networkPolicies(),
    ...announcementFields(inspected.announcement()),
    ...routesFields(inspected.routes()),
    startedAt: BigInt(startedAt),
    isReady,
    reasons: reasons.map(({ message }) => message),
    reasonCodes: reasons.map(({ code }) => code),
    warnings: [...warnings],
    programming: history.latency(),
    waitingMs: BigInt(Math.round(Math.max(0, ...waits))),
    driftRepaired: BigInt(history.driftRepaired),
    residentMemory: BigInt(process.memoryUsage.rss()),
    ...(now === undefined ? {} : tableCounts(now.table, now.tracker, now.mode)),
  }
}

function announcementFields(state: AnnouncementState | undefined) {
  if (state === undefined) return {}
  const { addresses, known, problems } = state
  return { announcement: { addresses: [...addresses], known, problems: [...problems] } }
}

function routesFields(state: RoutesState | undefined) {
  if (state === undefined) return {}
  const peers = state.peers.map((peer) => ({
    ...peer,
    since: BigInt(peer.since),
    routes: [...peer.routes],
  }))
  return { bgp: { peers, problems: [...state.problems] } }
}

/** Each entry as it is when it is taken from the iterator; entries that have gone by then are left out. */
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

type Counts = Pick<
  MessageInitShape<typeof StatusResponseSchema>,
  'services' | 'entries' | 'backends' | 'biggest' | 'problems' | 'refusals'
>

/** The fields of a status that come from the forwarding table and the kernel. */
function tableCounts(
  table: ForwardingTable,
  tracker: Pick<DeltaTracker, 'failures'>,
  mode: Pick<Mode, 'program'>,
): Counts {
  const sizes = new Map<string, number>()
  let entries = 0
  for (const { service, pools } of table.entries()) {
    entries++
    const backends = new Set([...pools.cluster, ...pools.local]).size
    sizes.set(service, (sizes.get(service) ?? 0) + backends)
  }
  const sorted = [...sizes].toSorted(([, a], [, b]) => b - a)
  return {
    entries,
    services: sizes.size,
    backends: sorted.reduce((sum, [, count]) => sum + count, 0),
    biggest: sorted.slice(0, MOST).map(([service, backends]) => ({ service, backends })),
    problems: table.problems().map(({ entry, code, message }) => ({ entry, code, message })),
    refusals: [...tracker.failures()].slice(0, MOST).map(([object, { refusal }]) => ({
      object,
      code: refusal.code,
      message: refusal.message,
      entries: [...mode.program.ownersOf(object)],
    })),
  }
}

/** An entry in the words of the inspection service. */
function entryMessage(
  entry: ForwardingEntry,
  status: string,
): MessageInitShape<typeof EntrySchema> {
  const { id, service, protocol, family, affinity, scheduler } = entry
  return {
    id,
    service,
    protocol,
    family,
    status,
    frontends: entry.frontends.map(frontendMessage),
    backends: backendMessages(entry),
    affinitySeconds: affinity?.seconds ?? 0,
    scheduler: scheduler ?? '',
  }
}

/** Backends of both pools and those that drain, each once, with the pools that have it. */
function backendMessages(entry: ForwardingEntry): MessageInitShape<typeof BackendSchema>[] {
  const { pools, draining } = entry
  const nameOf = ({ ip, port }: Backend) => `${ip} ${port}`
  const [cluster, local] = [pools.cluster, pools.local].map((pool) => new Set(pool.map(nameOf)))
  const all = new Map([...pools.cluster, ...pools.local].map((one) => [nameOf(one), one]))
  const active = [...all].map(([name, one]) => ({
    ...backendMessage(one),
    inClusterPool: cluster?.has(name) === true,
    inLocalPool: local?.has(name) === true,
  }))
  return [
    ...active,
    ...draining.map((one) => ({ ...backendMessage(one), drainingUntil: BigInt(one.until) })),
  ]
}

function frontendMessage(frontend: Frontend): MessageInitShape<typeof FrontendSchema> {
  const { kind, ip, port, pool, shortCircuit, masquerade, sourceRanges } = frontend
  return {
    kind,
    ip,
    port,
    pool,
    shortCircuit,
    masquerade,
    sourceRanges: [...(sourceRanges ?? [])],
    admitsAll: sourceRanges === undefined,
  }
}

/** The parts of the daemon that the documents show. */
interface Documented {
  readonly node: Pick<ThisNode, 'localAddresses' | 'modeInputs' | 'nodePortScope'>
  /** Undefined until the cluster is listed. */
  readonly running: () => Running | undefined
  /** What is enforced of NetworkPolicies; undefined while nothing is. */
  readonly policies: () => PolicyContent | undefined
  /** The configuration as JSON. */
  readonly describe: () => string
  /** The metrics in the text format of Prometheus. */
  readonly metrics: () => Promise<string>
}

type Part = MessageInitShape<typeof DocumentPartSchema>

/**
 * The daemon's documents in a bundle: configuration, metrics, desired state, why pools have their backends, and what is
 * enforced of NetworkPolicies.
 */
async function* documents(
  { describe, metrics, running, policies, node }: Documented,
  explainPool: NonNullable<DesiredState['explainPool']>,
) {
  yield* partsOf('configuration.json', [describe()])
  yield* partsOf('metrics.txt', [await metrics()])
  const now = running()
  if (now === undefined) return
  yield* partsOf(DESIRED_DOCUMENT, desiredLines(now, node))
  yield* partsOf(POOLS_DOCUMENT, poolLines(now.table.entries(), explainPool))
  const content = policies()
  if (content !== undefined) yield* partsOf(POLICIES_DOCUMENT, policyLines(content))
}

/** One JSON object per line: the rules, then each entry. */
function* desiredLines(now: Running, node: Documented['node']): Iterable<string> {
  yield `${JSON.stringify(desiredRules(now, node))}\n`
  for (const entry of now.table.entries()) yield `${JSON.stringify(entry)}\n`
}

function* partsOf(name: string, pieces: Iterable<string>): Iterable<Part> {
  let text = ''
  for (const piece of pieces) {
    text += piece
    if (text.length < PART_SIZE) continue
    yield { name, text }
    text = ''
  }
  if (text !== '') yield { name, text }
}

/** What the running node-proxy wants now, beside its forwarding table. */
function desiredRules(
  { mode }: Pick<Running, 'mode'>,
  node: Pick<ThisNode, 'localAddresses' | 'modeInputs' | 'nodePortScope'>,
): DesiredRules {
  const { config, node: object } = node.modeInputs
  const { masqueradeAll, localhostNodePorts } = config.iptables
  return {
    mode: mode.name,
    ownPorts: [...(mode.traffic?.ownPorts ?? [])],
    unserved: mode.gaps.flatMap(({ scenario, reason }) => {
      const protocol = PROTOCOLS.find((one) => one === scenario)
      return protocol === undefined ? [] : [{ protocol, reason }]
    }),
    localAddresses: node.localAddresses,
    nodePortScope: node.nodePortScope,
    localTraffic: localTraffic(config, object),
    masqueradeAll,
    localhostNodePorts,
    ...(mode.refusedRanges && { refusedRanges: mode.refusedRanges }),
  }
}
